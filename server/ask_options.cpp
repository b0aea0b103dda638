#include "server/ask_options.h"

#include <array>
#include <charconv>

namespace sluice::server {
namespace {

constexpr std::array<std::string_view, 9> kForms = {"structured_outputs", "guided_json",    "guided_regex",
                                                    "guided_choice",      "guided_grammar", "grammar",
                                                    "json_schema",        "regex",          "ebnf"};

void read_sampling(JsonFields& fields, v1::SamplingOptions& sampling) {
  const auto set = [&fields, &sampling](std::string_view name, auto setter) {
    if (const auto value = fields.number(name)) (sampling.*setter)(static_cast<float>(*value));
  };
  set("temperature", &v1::SamplingOptions::set_temperature);
  set("top_p", &v1::SamplingOptions::set_top_p);
  set("min_p", &v1::SamplingOptions::set_min_p);
  set("repetition_penalty", &v1::SamplingOptions::set_repetition_penalty);
  set("presence_penalty", &v1::SamplingOptions::set_presence_penalty);
  set("frequency_penalty", &v1::SamplingOptions::set_frequency_penalty);
  if (const auto value = fields.whole32("top_k")) sampling.set_top_k(*value);
  if (const auto value = fields.whole64("seed")) sampling.set_seed(*value);
}

void read_logit_bias(JsonFields& fields, v1::SamplingOptions& sampling) {
  const Json* const biases = fields.object("logit_bias");
  if (biases == nullptr) return;
  for (const auto& [name, bias] : biases->items()) {
    int32_t token = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, token);
    if (error != std::errc() || stop != end) return fields.fail("logit_bias", "must be named by token ids");
    if (!bias.is_number()) {
      return fields.fail("logit_bias." + std::to_string(token), "must be a number, not " + std::string(kind_of(bias)));
    }
    (*sampling.mutable_logit_bias())[token] = bias.get<float>();
  }
}

void read_stops(JsonFields& fields, v1::StoppingOptions& stopping) {
  const Json* const stop = fields.find("stop");
  if (stop == nullptr) return;
  if (stop->is_string()) return stopping.add_stop(stop->get<std::string>());
  if (!stop->is_array()) {
    return fields.fail("stop", "must be a string or an array of strings, not " + std::string(kind_of(*stop)));
  }
  for (size_t i = 0; i < stop->size(); ++i) {
    const Json& one = (*stop)[i];
    if (!one.is_string()) {
      return fields.fail("stop[" + std::to_string(i) + "]", "must be a string, not " + std::string(kind_of(one)));
    }
    stopping.add_stop(one.get<std::string>());
  }
}

void read_stop_tokens(JsonFields& fields, v1::StoppingOptions& stopping) {
  const Json* const ids = fields.array("stop_token_ids");
  if (ids == nullptr) return;
  for (size_t i = 0; i < ids->size(); ++i) {
    const std::optional<int64_t> id = whole_number((*ids)[i]);
    if (!id || *id != static_cast<int32_t>(*id)) {
      return fields.fail("stop_token_ids[" + std::to_string(i) + "]", "must be a token id");
    }
    stopping.add_stop_token_ids(static_cast<int32_t>(*id));
  }
}

void read_stream(JsonFields& fields, AnswerWish& wish) {
  wish.is_stream = fields.boolean("stream").value_or(false);
  const Json* const options = fields.object("stream_options");
  if (options == nullptr) return;
  JsonFields stream_options(*options, "stream_options");
  wish.include_usage = stream_options.boolean("include_usage").value_or(false) && wish.is_stream;
  for (const std::string& name : stream_options.unread()) wish.ignored.push_back("stream_options." + name);
  fields.fail(stream_options.status());
}

bool is_nothing(const Json& value) {
  return value.empty() || value == false || value == "";
}

}  // namespace

void read_shared_options(JsonFields& fields, v1::CompleteRequest& request, AnswerWish& wish) {
  if (auto model = fields.text("model")) request.set_model(*std::move(model));
  read_sampling(fields, *request.mutable_sampling());
  read_logit_bias(fields, *request.mutable_sampling());
  read_stops(fields, *request.mutable_stopping());
  read_stop_tokens(fields, *request.mutable_stopping());
  if (const auto ignore_eos = fields.boolean("ignore_eos")) request.mutable_stopping()->set_ignore_eos(*ignore_eos);
  if (const auto n = fields.whole32("n")) request.set_n(*n);
  if (const auto priority = fields.whole32("priority")) request.set_priority(*priority);
  if (auto salt = fields.text("cache_salt")) request.set_cache_salt(*std::move(salt));
  // Told by many clients for the provider's own records; the type is checked as the API has it.
  static_cast<void>(fields.text("user"));
  read_stream(fields, wish);
}

void refuse_unserved(JsonFields& fields, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const Json* const value = fields.find(name);
    if (value != nullptr && !is_nothing(*value)) fields.fail(name, "is not served here; leave it out");
  }
}

void refuse_forms(JsonFields& fields) {
  refuse_unserved(fields, kForms);
  const Json* const format = fields.object("response_format");
  if (format == nullptr) return;
  JsonFields members(*format, "response_format");
  const std::optional<std::string> type = members.text("type");
  fields.fail(members.status());
  if (type != "text") fields.fail("response_format.type", "must be \"text\": answers can't be held to a form here");
}

}  // namespace sluice::server
