#include "server/grpc_message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "engine/utf8.h"

namespace sluice::server {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::optional<std::string> find_broken_string(const Message& message);

/// The field's name as messages to clients have it: behind the oneof it is part of, e.g. "prompt.text".
std::string name_of(const FieldDescriptor& field) {
  const auto* oneof = field.real_containing_oneof();
  return oneof == nullptr ? field.name() : oneof->name() + "." + field.name();
}

/// No request has a list of messages with strings in them.
std::optional<std::string> find_broken_string(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const std::string name = name_of(field);
  if (field.type() == FieldDescriptor::TYPE_MESSAGE && !field.is_repeated()) {
    const auto inner = find_broken_string(reflection.GetMessage(message, &field));
    return inner ? std::optional(name + "." + *inner) : std::nullopt;
  }
  if (field.type() != FieldDescriptor::TYPE_STRING) return std::nullopt;
  if (!field.is_repeated()) {
    return engine::is_valid_utf8(reflection.GetString(message, &field)) ? std::nullopt : std::optional(name);
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (!engine::is_valid_utf8(reflection.GetRepeatedString(message, &field, i))) {
      return name + "[" + std::to_string(i) + "]";
    }
  }
  return std::nullopt;
}

/// The path of a string that is not UTF-8. The parser stores a string before it looks at its bytes, so a message that
/// it gave up has it.
std::optional<std::string> find_broken_string(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (auto path = find_broken_string(message, *field)) return path;
  }
  return std::nullopt;
}

}  // namespace

Status read_message(const grpc::ByteBuffer& bytes, Message& message) {
  grpc::ByteBuffer same_bytes = bytes;  // the reader wants a buffer of its own; nothing is copied
  grpc::ProtoBufferReader reader(&same_bytes);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return {};
  if (const auto path = find_broken_string(message)) return invalid_field(*path, "must be valid UTF-8");
  return invalid_argument("the message can't be read as a " + message.GetTypeName() +
                          "; make it with code generated from the daemon's inference.proto");
}

grpc::ByteBuffer write_message(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.ByteSizeLong());
  // gRPC has no slice to write to; this one is ours alone as yet.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return {&slice, 1};
}

}  // namespace sluice::server
