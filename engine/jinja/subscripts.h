#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

/// `object.name`: a method or an attribute, or else the item with that key. What may not be touched, such as the
/// methods that change a list, comes as an undefined whose use fails.
Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
/// `object[key]`: an item, or else the attribute with that name.
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key);
/// `object[begin:end:step]`; none stands for what was left out.
Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& begin, const Value& end, const Value& step);
/// The attribute or item as get_attribute finds it, through a path "a.b.0" of names and numbers; an int is an index.
/// What filters call "attribute".
Result<Value> get_path(Runtime& runtime, const Value& object, const Value& path);

}  // namespace sluice::jinja
