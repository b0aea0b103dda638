#include "engine/jinja/filters.h"

#include <string>

namespace sluice::jinja {
namespace {

Filter find_filter(std::string_view name) {
  for (const auto& filters :
       {text_filters(), number_filters(), sequence_filters(), selection_filters(), order_filters()}) {
    for (const auto& [candidate, filter] : filters) {
      if (candidate == name) return filter;
    }
  }
  return nullptr;
}

}  // namespace

bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr;
}

Result<Value> apply_filter(Runtime& runtime, std::string_view name, const Value& input, const Arguments& arguments) {
  const Filter filter = find_filter(name);
  if (filter == nullptr) return wrong_use("there is no filter \"" + std::string(name) + "\"");
  return filter(runtime, input, arguments);
}

}  // namespace sluice::jinja
