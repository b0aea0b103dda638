#include "server/json_text.h"

#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::server {
namespace {

constexpr int kNumberOverflow = 406;  // nlohmann's id for it

/// Builds the value while it is read, so that what is too deep or too much is refused before it takes memory. Returning
/// false ends the reading.
class JsonBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return fail("must be JSON text"); }

  bool start_object(size_t /*size*/) override { return open(Json::object()); }
  bool start_array(size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!names_.back().insert(name).second) return fail("has an object with the same name twice");
    name_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    return fail((error.id == kNumberOverflow ? "has a number that is too large at byte " : "is not JSON at byte ") +
                std::to_string(position));
  }

  Result<Json> take() {
    if (!problem_.empty()) return invalid_argument("the body " + problem_);
    return std::move(root_);
  }

 private:
  bool add(Json value) { return place(std::move(value)) != nullptr; }

  bool open(Json value) {
    if (open_.size() == kJsonDepthMax)
      return fail("is nested deeper than " + std::to_string(kJsonDepthMax) + " arrays and objects");
    Json* const placed = place(std::move(value));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    names_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  /// A parent gets nothing more while a child is open, so pointers to what is open stay good.
  Json* place(Json value) {
    if (++count_ > kJsonValuesMax) {
      fail("has more than " + std::to_string(kJsonValuesMax) + " values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
    // Appended as to a vector: the map's own way searches all its names, which were compared above.
    return &open_.back()->get_ref<Json::object_t&>().emplace_back(std::move(name_), std::move(value)).second;
  }

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  Json root_;
  std::vector<Json*> open_;
  std::vector<std::unordered_set<std::string>> names_;  // of each that is open
  std::string name_;                                    // of the member that comes next
  size_t count_ = 0;
  std::string problem_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.empty()) return invalid_argument("the body is empty, but must be JSON");
  JsonBuilder builder;
  // What it returns is known to the builder too.
  static_cast<void>(Json::sax_parse(text.begin(), text.end(), &builder));
  return builder.take();
}

std::string write_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice::server
