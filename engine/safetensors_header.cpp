#include "engine/safetensors_header.h"

#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

// A tensor's list of numbers is at depth 3. Members nobody knows may go deeper, but not without end.
constexpr int kDepthMax = 16;
constexpr size_t kDimensionsMax = 8;

/// Takes the header's JSON piece by piece, so that nothing is kept but what a tensor is made of.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Status failure() const { return failure_; }
  std::vector<SafetensorsDescription> take() { return std::move(tensors_); }

  bool null() override { return pass_over(); }
  bool boolean(bool /*value*/) override { return pass_over(); }
  bool number_integer(number_integer_t value) override {
    return in_known_member() ? fail("has the negative number " + std::to_string(value)) : pass_over();
  }
  bool number_unsigned(number_unsigned_t value) override { return take_number(value); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return in_known_member() ? fail("has the number " + printable_name(text) + ", which is not whole") : pass_over();
  }
  bool string(string_t& value) override { return take_string(value); }
  bool binary(binary_t& /*value*/) override { return pass_over(); }

  bool start_object(std::size_t /*elements*/) override {
    if (depth_ == 1 && !in_metadata_) begin_tensor();
    if (in_known_member()) return fail("has an object");
    return deeper();
  }
  bool end_object() override {
    --depth_;
    if (depth_ == 1 && !in_metadata_) return end_tensor();
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (depth_ == 0) return refuse("its header is not a JSON object");
    if (depth_ == 1) return fail("is not an object");
    if (depth_ == 2 && member_ == Member::kDtype) return fail("is not a string");
    if (depth_ == 3 && in_known_member()) return fail("is a list of lists");
    if (depth_ == 2 && in_known_member()) in_list_ = true;
    return deeper();
  }
  bool end_array() override {
    --depth_;
    if (depth_ == 2) in_list_ = false;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) return begin_entry(name);
    if (depth_ == 2 && !in_metadata_) return begin_member(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return refuse("its header is not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class Member { kNone, kDtype, kShape, kOffsets };

  /// Inside the value of one of the members that a tensor is made of.
  bool in_known_member() const { return depth_ >= 2 && !in_metadata_ && member_ != Member::kNone; }

  bool refuse(std::string problem) {
    failure_ = invalid_argument(std::move(problem));
    return false;
  }
  /// Names the tensor, and its member where one is being read.
  bool fail(const std::string& problem) {
    std::string text = "tensor " + printable_name(name_) + ": ";
    if (depth_ >= 2) text += std::string(member_name(member_)) + " ";
    return refuse(text + problem);
  }
  static std::string_view member_name(Member member) {
    if (member == Member::kDtype) return "dtype";
    return member == Member::kShape ? "shape" : "data_offsets";
  }

  bool deeper() {
    return ++depth_ <= kDepthMax || refuse("its header nests deeper than " + std::to_string(kDepthMax) + " levels");
  }

  /// A value of no use: fine anywhere but where a tensor, or a part of one, has to be.
  bool pass_over() {
    if (depth_ == 0) return refuse("its header is not a JSON object");
    if (depth_ == 1) return fail("is not an object");
    if (in_known_member()) return fail("has a value of the wrong type");
    return true;
  }

  bool begin_entry(const std::string& name) {
    in_metadata_ = name == "__metadata__";
    name_ = name;
    if (names_.insert(name).second) return true;
    return refuse("tensor " + printable_name(name) + ": the name appears twice");
  }

  void begin_tensor() {
    tensors_.emplace_back().name = name_;
    seen_.clear();
    offsets_.clear();
  }

  bool begin_member(const std::string& name) {
    member_ = Member::kNone;
    if (name == "dtype") member_ = Member::kDtype;
    if (name == "shape") member_ = Member::kShape;
    if (name == "data_offsets") member_ = Member::kOffsets;
    if (member_ == Member::kNone || seen_.insert(member_).second) return true;
    return fail("appears twice");
  }

  bool end_tensor() {
    member_ = Member::kNone;
    for (const Member wanted : {Member::kDtype, Member::kShape, Member::kOffsets}) {
      if (!seen_.contains(wanted)) return fail("it has no " + std::string(member_name(wanted)));
    }
    if (offsets_.size() != 2) return fail("data_offsets are not two numbers");
    tensors_.back().begin = offsets_[0];
    tensors_.back().end = offsets_[1];
    return true;
  }

  bool take_string(std::string& value) {
    if (!in_known_member() || member_ != Member::kDtype) return pass_over();
    tensors_.back().dtype = std::move(value);
    return true;
  }

  bool take_number(uint64_t value) {
    if (!in_known_member() || !in_list_) return pass_over();
    std::vector<uint64_t>& list = member_ == Member::kShape ? tensors_.back().shape : offsets_;
    if (list.size() == kDimensionsMax) return fail("has more than " + std::to_string(kDimensionsMax) + " numbers");
    list.push_back(value);
    return true;
  }

  std::vector<SafetensorsDescription> tensors_;
  std::set<std::string> names_;
  Status failure_;
  std::string name_;  ///< of the entry being read
  bool in_metadata_ = false;
  Member member_ = Member::kNone;  ///< of the tensor being read
  std::set<Member> seen_;
  bool in_list_ = false;  ///< of a known member
  std::vector<uint64_t> offsets_;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<SafetensorsDescription>> read_safetensors_header(std::string_view json) {
  HeaderReader reader;
  if (nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) return reader.take();
  return reader.failure();
}

}  // namespace sluice::engine
