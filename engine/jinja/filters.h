#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

using Filter = Result<Value> (*)(Runtime& runtime, const Value& input, const Arguments& arguments);
using FilterEntry = std::pair<std::string_view, Filter>;

bool is_filter(std::string_view name);
/// `input | name(arguments)`.
Result<Value> apply_filter(Runtime& runtime, std::string_view name, const Value& input, const Arguments& arguments);

// The filters by what they work on.
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> number_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> selection_filters();
std::span<const FilterEntry> order_filters();

}  // namespace sluice::jinja
