#include "engine/pretokenizer_pattern.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"

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

Code compile(std::string_view regex) {
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(regex.data()), regex.size(), PCRE2_UTF | PCRE2_UCP, &error,
                          &error_offset, nullptr));
  SLUICE_CHECK(code != nullptr);
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

class PretokenizerPattern::Compiled {
 public:
  explicit Compiled(std::string_view regex) : code_(compile(regex)) {}
  const pcre2_code& code() const { return *code_; }

 private:
  Code code_;
};

PretokenizerPattern::PretokenizerPattern(std::string_view regex) : compiled_(std::make_unique<Compiled>(regex)) {}
PretokenizerPattern::PretokenizerPattern(PretokenizerPattern&&) noexcept = default;
PretokenizerPattern& PretokenizerPattern::operator=(PretokenizerPattern&&) noexcept = default;
PretokenizerPattern::~PretokenizerPattern() = default;

Status PretokenizerPattern::split(std::string_view text, const PieceSink& sink) const {
  Matcher matcher(compiled_->code(), text);
  size_t done = 0;
  while (done < text.size()) {
    const int found = matcher.find_from(done);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) return internal_error("pre-tokenizer: PCRE2 error " + std::to_string(found));
    SLUICE_CHECK(matcher.end() > matcher.begin());
    if (matcher.begin() > done) sink(text.substr(done, matcher.begin() - done));
    sink(text.substr(matcher.begin(), matcher.end() - matcher.begin()));
    done = matcher.end();
  }
  if (done < text.size()) sink(text.substr(done));
  return {};
}

}  // namespace sluice::engine
