#include "engine/text_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Code = std::unique_ptr<pcre2_code, Free>;
using MatchData = std::unique_ptr<pcre2_match_data, Free>;
using MatchContext = std::unique_ptr<pcre2_match_context, Free>;

Result<Code> compile_code(std::string_view regex, uint32_t options) {
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  // PCRE2 takes a pointer even where the size is 0.
  const auto* const begin = reinterpret_cast<PCRE2_SPTR>(regex.empty() ? "" : regex.data());
  Code code(pcre2_compile(begin, regex.size(), PCRE2_UTF | options, &error, &error_offset, nullptr));
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 256> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    return invalid_argument(
        "the regular expression can't be compiled: " + std::string(reinterpret_cast<const char*>(message.data())) +
        " at byte " + std::to_string(error_offset));
  }
  // Where the system forbids machine code this fails, and the interpreter, which gives the same matches, is used.
  static_cast<void>(pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE));
  return code;
}

/// One match looks at a character a few times at most, so a matcher that needs more steps than this is lost.
uint32_t step_limit(size_t text_size) {
  constexpr size_t kFloor = 100'000;
  constexpr size_t kStepsPerByte = 8;
  constexpr size_t kCeiling = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::clamp(text_size, kFloor / kStepsPerByte, kCeiling / kStepsPerByte) * kStepsPerByte);
}

/// Finds the matches of one text, one after the other.
class Matcher {
 public:
  Matcher(const pcre2_code& code, std::string_view text)
      : code_(&code),
        text_(text),
        data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    SLUICE_CHECK(data_ != nullptr && context_ != nullptr);
    pcre2_set_match_limit(context_.get(), step_limit(text.size()));
  }

  /// A negative PCRE2 error number, PCRE2_ERROR_NOMATCH among them; otherwise begin() and end() are set.
  int find_from(size_t offset) {
    const int found = match(offset, 0);
    // Machine code works on a small fixed stack; the interpreter works on the heap.
    return found == PCRE2_ERROR_JIT_STACKLIMIT ? match(offset, PCRE2_NO_JIT) : found;
  }
  size_t begin() const { return pcre2_get_ovector_pointer(data_.get())[0]; }
  size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }

 private:
  int match(size_t offset, uint32_t options) {
    // The text was checked once: checking it at every match would take quadratic time.
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), offset,
                       options | PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
  }

  const pcre2_code* code_;
  std::string_view text_;
  MatchData data_;
  MatchContext context_;
};

}  // namespace

class TextPattern::Compiled {
 public:
  explicit Compiled(Code code) : code_(std::move(code)) {}
  const pcre2_code& code() const { return *code_; }

 private:
  Code code_;
};

Result<TextPattern> TextPattern::compile(std::string_view regex, unsigned options) {
  SLUICE_ASSIGN_OR_RETURN(Code code, compile_code(regex, options));
  return TextPattern(std::make_unique<Compiled>(std::move(code)));
}

Result<TextPattern> TextPattern::compile(std::string_view regex) {
  return compile(regex, PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C);
}

Result<TextPattern> TextPattern::literal(std::string_view text) {
  return compile(text, PCRE2_LITERAL);
}

TextPattern::TextPattern(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
TextPattern::TextPattern(TextPattern&&) noexcept = default;
TextPattern& TextPattern::operator=(TextPattern&&) noexcept = default;
TextPattern::~TextPattern() = default;

Status TextPattern::split(std::string_view text, const PartSink& sink) const {
  if (text.empty()) return {};
  Matcher matcher(compiled_->code(), text);
  size_t done = 0;  // what lies before has gone to the sink
  size_t from = 0;  // where the next match may begin
  std::optional<size_t> last_match_end;
  while (from <= text.size()) {
    const int found = matcher.find_from(from);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) return internal_error("regular expression: PCRE2 error " + std::to_string(found));
    const size_t begin = matcher.begin();
    const size_t end = matcher.end();
    // \K in a look-around can put a match before the place where the search began, or its end before its beginning.
    if (begin < done || end < begin) return internal_error("regular expression: a match goes backwards");
    if (begin == end && last_match_end == end) {
      // An empty match right behind a match would come again and again.
      if (from == text.size()) break;
      from += utf8_step(text.substr(from)).size;
      continue;
    }
    if (begin > done) sink({.text = text.substr(done, begin - done), .is_match = false});
    sink({.text = text.substr(begin, end - begin), .is_match = true});
    done = from = end;
    last_match_end = end;
  }
  if (done < text.size()) sink({.text = text.substr(done), .is_match = false});
  return {};
}

}  // namespace sluice::engine
