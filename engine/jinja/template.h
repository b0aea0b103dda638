#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "engine/jinja/limits.h"
#include "engine/jinja/value.h"

namespace sluice::jinja {

struct Ast;

/// A Jinja template as Hugging Face's apply_chat_template reads it: Jinja2 in an immutable sandbox, with trim_blocks
/// and lstrip_blocks, break and continue, {% generation %}, raise_exception(), strftime_now() and a tojson that doesn't
/// escape. Left out are inheritance, include and import, autoescape, integers past 64 bits, and the filters attr,
/// filesizeformat, pprint, random, striptags, urlencode, urlize, wordwrap and xmlattr; what uses them is refused by
/// name. Immutable and thread-safe; cheap to copy.
class Template {
 public:
  /// INVALID_ARGUMENT names the line at fault, RESOURCE_EXHAUSTED the limit.
  static Result<Template> compile(std::string_view source, const Limits& limits = {});

  /// What the template prints, each byte with its origin. `now` is what strftime_now() tells, in local time.
  ///
  /// Errors: INVALID_ARGUMENT with the message of raise_exception() and nothing else; FAILED_PRECONDITION for what else
  /// goes wrong in the template (an undefined value is used, a type doesn't fit) and RESOURCE_EXHAUSTED for a limit,
  /// both with the line in front. No input can make it crash, hang or take more memory than the limits allow.
  Result<Text> render(const Dict& variables, std::chrono::system_clock::time_point now) const;

 private:
  Template(std::shared_ptr<const Ast> ast, const Limits& limits) : ast_(std::move(ast)), limits_(limits) {}

  std::shared_ptr<const Ast> ast_;
  Limits limits_;
};

}  // namespace sluice::jinja
