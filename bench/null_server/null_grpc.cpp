#include "bench/null_server/null_grpc.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "sluice/v1/inference.grpc.pb.h"

namespace sluice::null_server {
namespace {

constexpr int32_t kVocabulary = 32'000;
constexpr int32_t kContext = 1 << 20;

template <typename Message>
grpc::ByteBuffer bytes_of(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

v1::CompleteRequest read(const grpc::ByteBuffer& bytes) {
  v1::CompleteRequest request;
  std::vector<grpc::Slice> slices;
  std::string text;
  if (bytes.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  // What can't be read asks for nothing, and gets an empty answer.
  return request.ParseFromString(text) ? request : v1::CompleteRequest();
}

grpc::ByteBuffer prompt_info(int32_t prompt_tokens) {
  v1::CompleteEvent event;
  event.mutable_prompt_info()->set_request_id("null");
  event.mutable_prompt_info()->set_prompt_tokens(prompt_tokens);
  return bytes_of(event);
}

grpc::ByteBuffer one_token() {
  v1::CompleteEvent event;
  event.mutable_tokens()->set_text(" a");
  event.mutable_tokens()->add_tokens()->set_id(1);
  return bytes_of(event);
}

grpc::ByteBuffer finished(int32_t prompt_tokens, int32_t completion_tokens) {
  v1::CompleteEvent event;
  event.mutable_finished()->set_reason(v1::FINISH_REASON_LENGTH);
  event.mutable_finished()->mutable_usage()->set_prompt_tokens(prompt_tokens);
  event.mutable_finished()->mutable_usage()->set_completion_tokens(completion_tokens);
  return bytes_of(event);
}

/// One answer. gRPC's threads report writes; the I/O thread makes them, one at a time.
class Stream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                     public PacedStream,
                     public std::enable_shared_from_this<Stream> {
 public:
  Stream(const v1::CompleteRequest& request, boost::asio::io_context& io)
      : io_(io),
        prompt_tokens_(request.token_ids().ids_size()),
        max_tokens_(request.stopping().max_tokens()),
        token_(one_token()),
        message_(prompt_info(prompt_tokens_)) {}

  /// Keeps itself until gRPC is done with it.
  void begin(Pacing& pacing) {
    self_ = shared_from_this();
    boost::asio::post(io_, [self = self_, &pacing] { pacing.add(self); });
  }

  bool send_up_to(int32_t tokens) override {
    due_ = tokens;
    advance();
    return !has_ended_;
  }

 private:
  void OnWriteDone(bool ok) override {
    boost::asio::post(io_, [self = self_, ok] {
      self->is_writing_ = false;
      if (ok) return self->advance();
      self->end();
    });
  }
  void OnCancel() override {
    // A write in progress will fail, and end it.
    boost::asio::post(io_, [self = self_] {
      if (!self->is_writing_) self->end();
    });
  }
  void OnDone() override {
    boost::asio::post(io_, [self = std::move(self_)] { self->has_ended_ = true; });
  }

  void advance() {
    if (is_writing_ || has_ended_) return;
    if (!has_begun_) {
      has_begun_ = true;
      write(message_);
    } else if (sent_ < std::min(due_, max_tokens_)) {
      ++sent_;
      write(token_);
    } else if (sent_ >= max_tokens_) {
      has_ended_ = true;
      message_ = finished(prompt_tokens_, max_tokens_);
      StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
    }
  }
  void write(const grpc::ByteBuffer& message) {
    is_writing_ = true;
    StartWrite(&message);
  }
  void end() {
    if (std::exchange(has_ended_, true)) return;
    Finish(grpc::Status::CANCELLED);
  }

  boost::asio::io_context& io_;
  const int32_t prompt_tokens_;
  const int32_t max_tokens_;
  const grpc::ByteBuffer token_;
  grpc::ByteBuffer message_;  // the first or the last
  int32_t due_ = 0;
  int32_t sent_ = 0;
  bool has_begun_ = false;
  bool is_writing_ = false;
  bool has_ended_ = false;
  std::shared_ptr<Stream> self_;
};

}  // namespace

class NullGrpc::Service final : public v1::Inference::WithRawCallbackMethod_StreamComplete<
                                    v1::Inference::WithCallbackMethod_GetModel<v1::Inference::Service>> {
 public:
  Service(boost::asio::io_context& io, Pacing& pacing) : io_(io), pacing_(pacing) {}

  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const v1::GetModelRequest*,
                                     v1::GetModelResponse* response) override {
    response->set_name("null");
    response->set_vocab_size(kVocabulary);
    response->set_context_length(kContext);
    response->set_device("none");
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamComplete(grpc::CallbackServerContext*,
                                                             const grpc::ByteBuffer* request) override {
    const auto stream = std::make_shared<Stream>(read(*request), io_);
    stream->begin(pacing_);
    return stream.get();
  }

 private:
  boost::asio::io_context& io_;
  Pacing& pacing_;
};

NullGrpc::NullGrpc(std::unique_ptr<Service> service, std::unique_ptr<grpc::Server> server, std::string address)
    : service_(std::move(service)), server_(std::move(server)), address_(std::move(address)) {}

Result<std::unique_ptr<NullGrpc>> NullGrpc::start(const std::string& address, boost::asio::io_context& io,
                                                  Pacing& pacing) {
  auto service = std::make_unique<Service>(io, pacing);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service.get());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return unavailable("cannot listen on " + address);
  const std::string bound = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  return std::unique_ptr<NullGrpc>(new NullGrpc(std::move(service), std::move(server), bound));
}

NullGrpc::~NullGrpc() {
  // A moment long past: calls are cancelled at once.
  server_->Shutdown(std::chrono::system_clock::time_point());
}

}  // namespace sluice::null_server
