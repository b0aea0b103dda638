#include "engine/jinja/json.h"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sluice::jinja {
namespace {

/// Takes the parser's events, so that no tree of the library's is built and nothing recurses.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(int32_t depth_max) : depth_max_(depth_max) {}

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(number_integer_t value) override { return add(Value(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<uint64_t>(INT64_MAX);
    return add(fits ? Value(static_cast<int64_t>(value)) : Value(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(Value(value)); }
  bool string(string_t& value) override { return add(Value(value, Origin::kInput)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return open(/*is_object=*/true); }
  bool start_array(size_t /*size*/) override { return open(/*is_object=*/false); }
  bool key(string_t& value) override {
    open_.back().key = Value(value, Origin::kInput);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::json::exception& /*error*/) override {
    problem_ = "not JSON, byte " + std::to_string(position);
    return false;
  }

  Value take() && { return std::move(result_); }
  const std::string& problem() const { return problem_; }

 private:
  struct Open {
    bool is_object = false;
    Value key;
    Dict dict;
    std::vector<Value> items;
  };

  bool open(bool is_object) {
    if (open_.size() >= static_cast<size_t>(depth_max_)) {
      problem_ = "JSON nests deeper than " + std::to_string(depth_max_) + " levels";
      return false;
    }
    open_.push_back({.is_object = is_object, .key = {}, .dict = {}, .items = {}});
    return true;
  }
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return add(done.is_object ? make_dict(std::move(done.dict)) : make_list(std::move(done.items)));
  }
  bool add(Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().dict.set(open_.back().key, std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  const int32_t depth_max_;
  std::vector<Open> open_;
  Value result_;
  std::string problem_;
};

}  // namespace

Result<Value> parse_json(std::string_view text, int32_t depth_max) {
  Builder builder(depth_max);
  if (!nlohmann::json::sax_parse(text, &builder)) return invalid_argument(builder.problem());
  return std::move(builder).take();
}

}  // namespace sluice::jinja
