#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::engine {

/// The regular expression in PCRE2's syntax (with PCRE2_UCP and PCRE2_MULTILINE) that matches as `regex` does in
/// Oniguruma's Ruby syntax, in which tokenizer.json files are written. INVALID_ARGUMENT names what has no counterpart
/// or isn't known. https://github.com/kkos/oniguruma/blob/master/doc/RE
Result<std::string> pcre2_of_oniguruma(std::string_view regex);

}  // namespace sluice::engine
