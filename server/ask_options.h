#pragma once

#include <span>
#include <string_view>

#include "server/completion_ask.h"
#include "server/json_fields.h"

namespace sluice::server {

/// Reads what both kinds of completion share: model, sampling, stopping but max_tokens, n, priority, cache_salt and
/// streaming.
void read_shared_options(JsonFields& fields, v1::CompleteRequest& request, AnswerWish& wish);

/// Refuses members that would change what the answer may be, and that are not served: to ignore them would give an
/// answer that looks right and is not. They may also be null, empty or false.
void refuse_unserved(JsonFields& fields, std::span<const std::string_view> names);

/// Refuses what would hold the answer to a form: response_format other than {"type": "text"}, and the members that
/// other servers have for it.
void refuse_forms(JsonFields& fields);

}  // namespace sluice::server
