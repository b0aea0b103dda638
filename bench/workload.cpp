#include "bench/workload.h"

#include <algorithm>
#include <utility>

#include "base/counter_random.h"
#include "bench/prompt_source.h"

namespace sluice::bench {
namespace {

using Dataset = std::vector<DatasetConversation>;

/// Independent streams of random numbers from one seed.
enum class Draw : uint64_t { kPrompts = 0, kLength = 10, kOutput = 11, kShare = 12, kOrder = 13 };

uint64_t stream_seed(uint64_t seed, Draw draw) {
  return random_bits(seed, static_cast<uint64_t>(draw));
}

/// Turns of a conversation have numbers of their own, far from those of other conversations.
uint64_t number_of(uint64_t conversation, int32_t turn) {
  return conversation + (static_cast<uint64_t>(turn) << 40U);
}

Ask base_ask(const RunConfig& load) {
  Ask ask;
  ask.ignores_end_tokens = load.ignores_end_tokens;
  ask.stop_token_ids = load.stop_token_ids;
  ask.temperature = load.temperature;
  ask.tenant = load.tenant;
  return ask;
}

/// What an answer becomes in the prompt of the next turn.
Ask::Prompt as_prompt(const AnswerContent& answer, const Ask::Prompt& form) {
  if (std::holds_alternative<Ask::Tokens>(form)) return answer.ids;
  if (std::holds_alternative<Ask::Text>(form)) return "\n" + answer.text + "\n";
  return Ask::Chat{{.role = "assistant", .content = answer.text}};
}

/// Random prompts of given lengths.
class SyntheticWorkload final : public Workload {
 public:
  SyntheticWorkload(const RunConfig& load, PromptSource prompts)
      : load_(load),
        output_(load.output_tokens.value_or(LengthDistribution::fixed(RunConfig::kOutputTokens))),
        prompts_(std::move(prompts)) {}

  Ask first(uint64_t conversation) const override {
    const bool has_prefix =
        random_unit(stream_seed(load_.seed, Draw::kShare), conversation) < load_.shared_prefix_share;
    return ask(conversation, has_prefix ? load_.shared_prefix_tokens : 0);
  }
  std::optional<Ask> next(uint64_t conversation, int32_t turn, const Ask& asked,
                          const AnswerContent& answer) const override {
    if (turn >= load_.turns) return std::nullopt;
    Ask following = ask(number_of(conversation, turn), 0);
    following.prompt = asked.prompt + as_prompt(answer, asked.prompt) + following.prompt;
    return following;
  }

 private:
  Ask ask(uint64_t number, int32_t shared) const {
    Ask ask = base_ask(load_);
    ask.prompt =
        prompts_.prompt(number, load_.prompt_tokens.draw(stream_seed(load_.seed, Draw::kLength), number), shared);
    ask.output_tokens = output_.draw(stream_seed(load_.seed, Draw::kOutput), number);
    ask.keeps_ids = load_.turns > 1;
    return ask;
  }

  const RunConfig load_;
  const LengthDistribution output_;
  const PromptSource prompts_;
};

/// The requests of a trace: its lengths, with random content.
class TraceWorkload final : public Workload {
 public:
  TraceWorkload(const RunConfig& load, PromptSource prompts) : load_(load), prompts_(std::move(prompts)) {}

  Ask first(uint64_t conversation) const override {
    const simulation::TracedArrival& traced = (*load_.trace)[conversation % load_.trace->size()];
    Ask ask = base_ask(load_);
    // At least one token is the request's own.
    const int32_t shared = std::min(traced.shared_tokens, traced.prompt_tokens - 1);
    ask.prompt = prompts_.prompt(conversation, traced.prompt_tokens - shared, shared);
    ask.output_tokens = traced.output_tokens;
    if (ask.tenant.empty()) ask.tenant = traced.tenant;
    return ask;
  }
  std::optional<Ask> next(uint64_t, int32_t, const Ask&, const AnswerContent&) const override { return std::nullopt; }

 private:
  const RunConfig load_;
  const PromptSource prompts_;
};

/// A dataset's conversations, in an order that the seed gives, over and over.
class DatasetWorkload final : public Workload {
 public:
  DatasetWorkload(const RunConfig& load, PromptForm form, std::shared_ptr<const Dataset> dataset,
                  std::vector<size_t> order)
      : load_(load), form_(form), dataset_(std::move(dataset)), order_(std::move(order)) {}

  Ask first(uint64_t conversation) const override { return ask(conversation, 0); }
  std::optional<Ask> next(uint64_t conversation, int32_t turn, const Ask& asked,
                          const AnswerContent& answer) const override {
    if (turn >= load_.turns || static_cast<size_t>(turn) >= conversation_of(conversation).turns.size()) {
      return std::nullopt;
    }
    Ask following = ask(conversation, turn);
    following.prompt = asked.prompt + as_prompt(answer, asked.prompt) + following.prompt;
    return following;
  }

 private:
  const DatasetConversation& conversation_of(uint64_t conversation) const {
    return (*dataset_)[order_[conversation % order_.size()]];
  }
  Ask ask(uint64_t conversation, int32_t turn) const {
    const DatasetConversation::Turn& said = conversation_of(conversation).turns[static_cast<size_t>(turn)];
    Ask ask = base_ask(load_);
    if (form_ == PromptForm::kChat) {
      ask.prompt = Ask::Chat{{.role = "user", .content = said.prompt}};
    } else {
      ask.prompt = said.prompt;
    }
    ask.output_tokens = load_.output_tokens ? load_.output_tokens->draw(stream_seed(load_.seed, Draw::kOutput),
                                                                        number_of(conversation, turn))
                                            : estimate_tokens(said.answer);
    return ask;
  }

  const RunConfig load_;
  const PromptForm form_;
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<size_t> order_;
};

/// Tokens of a conversation of so many turns, as far as its text tells.
int64_t estimate(const DatasetConversation& conversation, const RunConfig& load) {
  int64_t tokens = 0;
  const size_t turns = std::min(conversation.turns.size(), static_cast<size_t>(load.turns));
  for (size_t turn = 0; turn < turns; ++turn) {
    tokens += estimate_tokens(conversation.turns[turn].prompt);
    tokens += load.output_tokens ? load.output_tokens->max : estimate_tokens(conversation.turns[turn].answer);
  }
  return tokens;
}

/// Of those that seem to fit the context, in an order drawn by the seed.
Result<std::vector<size_t>> draw_order(const RunConfig& load, const ServedModel& model, const Dataset& dataset) {
  std::vector<size_t> order;
  for (size_t i = 0; i < dataset.size(); ++i) {
    if (!model.context_length || estimate(dataset[i], load) <= *model.context_length) order.push_back(i);
  }
  if (order.empty()) {
    return failed_precondition("no conversation of " + load.dataset_path + " fits the context of " +
                               std::to_string(model.context_length.value_or(0)) + " tokens");
  }
  const uint64_t seed = stream_seed(load.seed, Draw::kOrder);
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random_bits(seed, i) % (i + 1)]);
  return order;
}

int64_t longest_request(const RunConfig& load) {
  if (!load.trace) {
    const int64_t turn =
        int64_t{load.prompt_tokens.max} + (load.output_tokens ? load.output_tokens->max : RunConfig::kOutputTokens);
    return load.shared_prefix_tokens + turn * load.turns;
  }
  int64_t longest = 0;
  for (const simulation::TracedArrival& traced : *load.trace)
    longest = std::max(longest, int64_t{traced.prompt_tokens} + traced.output_tokens);
  return longest;
}

/// Refuses what the server would refuse or cut short request by request.
Status check_fits(const RunConfig& load, const ServedModel& model) {
  const int64_t longest = longest_request(load);
  if (!model.context_length || longest <= *model.context_length) return {};
  return failed_precondition("prompt and output are up to " + std::to_string(longest) + " tokens, but " + model.name +
                             " is served with a context of " + std::to_string(*model.context_length));
}

Result<PromptSource> prompts_for(const RunConfig& load, const Target& target) {
  const uint64_t seed = stream_seed(load.seed, Draw::kPrompts);
  if (target.prompt_form() != PromptForm::kTokens) return PromptSource::of_words(target.prompt_form(), seed);
  return PromptSource::of_tokens(target.model().vocab_size, target.model().special_ids, seed);
}

}  // namespace

Result<std::unique_ptr<Workload>> make_workload(const RunConfig& load, const Target& target,
                                                std::shared_ptr<const Dataset> dataset) {
  if (dataset != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<size_t> order, draw_order(load, target.model(), *dataset));
    return std::unique_ptr<Workload>(
        std::make_unique<DatasetWorkload>(load, target.prompt_form(), std::move(dataset), std::move(order)));
  }
  SLUICE_RETURN_IF_ERROR(check_fits(load, target.model()));
  SLUICE_ASSIGN_OR_RETURN(PromptSource prompts, prompts_for(load, target));
  if (load.trace) return std::unique_ptr<Workload>(std::make_unique<TraceWorkload>(load, std::move(prompts)));
  return std::unique_ptr<Workload>(std::make_unique<SyntheticWorkload>(load, std::move(prompts)));
}

}  // namespace sluice::bench
