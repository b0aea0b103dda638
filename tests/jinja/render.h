#pragma once

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/jinja/json.h"
#include "engine/jinja/template.h"

namespace sluice::jinja {

constexpr int64_t kNowSeconds = 1'700'000'000;

inline std::chrono::system_clock::time_point at_seconds(int64_t seconds) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
}

/// The variables of a JSON object.
inline Dict variables_of(std::string_view json) {
  const Result<Value> value = parse_json(json, 100);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() && value->is(Kind::kDict) ? value->dict() : Dict();
}

inline Result<Text> render(std::string_view source, std::string_view variables = "{}", const Limits& limits = {}) {
  SLUICE_ASSIGN_OR_RETURN(const Template compiled, Template::compile(source, limits));
  return compiled.render(variables_of(variables), at_seconds(kNowSeconds));
}

inline std::string text_of(std::string_view source, std::string_view variables = "{}") {
  const Result<Text> text = render(source, variables);
  EXPECT_TRUE(text.ok()) << text.status() << " in " << source;
  return text.ok() ? text->bytes() : "";
}

inline Status failure_of(std::string_view source, std::string_view variables = "{}", const Limits& limits = {}) {
  return render(source, variables, limits).status();
}

}  // namespace sluice::jinja
