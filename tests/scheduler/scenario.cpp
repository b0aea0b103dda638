#include "tests/scheduler/scenario.h"

#include <fstream>
#include <variant>

#include <gtest/gtest.h>

#include "scheduler/batch_builder.h"

namespace sluice::scheduler {
namespace {

constexpr int32_t kVocabSize = 1'000'000;  // large, so that a stop token does not come up by chance
constexpr auto kStepTime = std::chrono::milliseconds(10);

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// "a=1 b" -> {a: "1", b: ""}
std::map<std::string, std::string> options_of(std::istringstream& words) {
  std::map<std::string, std::string> options;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    options[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return options;
}

int32_t number_or(const std::map<std::string, std::string>& options, const std::string& key, int32_t fallback) {
  const auto found = options.find(key);
  return found == options.end() ? fallback : std::stoi(found->second);
}

void apply(const std::map<std::string, std::string>& options, SchedulerConfig& config) {
  config.max_running = number_or(options, "max_running", config.max_running);
  config.max_running_per_tenant = number_or(options, "running_per_tenant", config.max_running_per_tenant);
  config.max_queued_requests = number_or(options, "max_queued", config.max_queued_requests);
  config.max_queued_tokens = number_or(options, "queued_tokens", static_cast<int32_t>(config.max_queued_tokens));
  config.max_queued_per_tenant = number_or(options, "queued_per_tenant", config.max_queued_per_tenant);
  config.tokens_per_step = number_or(options, "tokens_per_step", config.tokens_per_step);
  config.tpot_target_ms = number_or(options, "tpot_target", static_cast<int32_t>(config.tpot_target_ms));
  if (const auto found = options.find("admission"); found != options.end()) config.admission = found->second;
}

kvcache::BlockGrowth growth_of(const std::map<std::string, std::string>& options) {
  const int32_t block_size = number_or(options, "block_size", 4);
  const int32_t full_groups = number_or(options, "full", 1);
  const int32_t window_groups = number_or(options, "windowed", 0);
  if (window_groups == 0) return {.block_size = block_size, .full_groups = full_groups};
  return windowed_growth(block_size, full_groups, window_groups, number_or(options, "window", 8),
                         number_or(options, "slice_max", 16));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string reason_text(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return ":stop";
    case FinishReason::kLength:
      return ":length";
    case FinishReason::kCancelled:
      return ":cancelled";
  }
  return ":?";
}

std::string failure_text(const Status& status) {
  switch (status.code()) {
    case StatusCode::kDeadlineExceeded:
      return ":deadline";
    case StatusCode::kInternal:
      return ":internal";
    case StatusCode::kUnavailable:
      return ":unavailable";
    case StatusCode::kInvalidArgument:
      return ":never_fits";
    case StatusCode::kResourceExhausted:
      return ":refused";
    default:
      return ":?";
  }
}

}  // namespace

void Scenario::run(const std::string& path) {
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const ::testing::ScopedTrace trace(path.c_str(), number, line);
    if (!trimmed(line).empty() && line[0] != '#') run_line(line);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(number, 0) << path << " is empty";
}

void Scenario::run_line(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "config") return configure(options_of(words));
  if (!scheduler_) configure({});
  if (verb == "tick") return tick(trimmed(line.substr(4)));
  if (verb == "limits") return change_limits(options_of(words));
  if (verb == "explain") return explain(line);
  if (verb == "expect") return expect(options_of(words));
  if (verb == "fail_all") return scheduler_->fail_all(unavailable("the drain time is over"), clock_.now());
  if (verb == "engine_fails") return executor_->fail_next_step(internal_error("out of order"));
  std::string name;
  words >> name;
  if (verb == "submit") return submit(name, options_of(words));
  if (verb == "cancel") return cancel(name);
  if (verb == "ticks") return tick_often(std::stoi(name));
  if (verb == "advance") return clock_.advance(std::chrono::milliseconds(std::stoi(name)));
  FAIL() << "no such verb: " << verb;
}

void Scenario::configure(const Options& options) {
  SchedulerConfig config{.max_running = 4, .max_queued_requests = 8, .tokens_per_step = 16, .admission = "reserve"};
  apply(options, config);
  const auto prefix = options.find("prefix");
  shares_prefixes_ = prefix != options.end();
  time_per_prompt_token_ = std::chrono::milliseconds(number_or(options, "token_ms", 0));
  const int32_t block_count = number_or(options, "blocks", 32);
  const kvcache::BlockGrowth growth = growth_of(options);
  pool_ = std::make_unique<kvcache::SharedBlockPool>(block_count, growth);
  executor_ = std::make_unique<FakeExecutor>(block_count, growth, kVocabSize, options.contains("ahead") ? 1 : 0);
  scheduler_ = std::make_unique<Scheduler>(config, *pool_, hasher_, shares_prefixes_ && prefix->second == "outputs");
}

void Scenario::change_limits(const Options& options) {
  SchedulerConfig wanted = scheduler_->config();
  apply(options, wanted);
  EXPECT_EQ(wanted.validate(), Status());
  scheduler_->set_limits(wanted);
}

Submission Scenario::submission_of(const Options& options) const {
  Submission submission;
  submission.id = {clients_.size() + 1};
  submission.seed = submission.id.value;
  submission.prompt.resize(static_cast<size_t>(number_or(options, "prompt", 1)));
  const auto same = static_cast<size_t>(number_or(options, "same", 0));
  for (size_t i = 0; i < submission.prompt.size(); ++i) {
    submission.prompt[i] = static_cast<int32_t>((i < same ? 0 : submission.id.value * 1000) + i);
  }
  submission.max_new_tokens = number_or(options, "max", 1);
  submission.sequence_count = number_or(options, "n", 1);
  submission.score_prompt = options.contains("score");
  if (options.contains("penalties")) submission.sampling.frequency_penalty = 1;
  if (options.contains("tenant")) submission.tenant = options.at("tenant");
  submission.priority = number_or(options, "priority", 0);
  submission.arrival = clock_.now();
  if (options.contains("deadline")) {
    submission.deadline = clock_.now() + std::chrono::milliseconds(number_or(options, "deadline", 0));
  }
  if (options.contains("stop")) {
    const auto place = static_cast<size_t>(number_or(options, "stop", 1));
    submission.stop_token_ids = {solo_output(submission, 0, kVocabSize).at(place - 1)};
  }
  if (shares_prefixes_) add_prefix_keys(submission, hasher_, pool_->block_size());
  return submission;
}

void Scenario::submit(const std::string& name, const Options& options) {
  Submission submission = submission_of(options);
  Client client{.name = name, .submission = submission, .expected = {}, .token_counts = {}};
  for (int32_t i = 0; i < submission.sequence_count; ++i) {
    client.expected.push_back(solo_output(submission, i, kVocabSize));
    client.token_counts.push_back(0);
  }
  clients_.emplace(submission.id, std::move(client));
  scheduler_->submit(std::move(submission), clock_.now());
}

void Scenario::cancel(const std::string& name) {
  const size_t dot = name.find('.');
  Cancel cancel;
  for (const auto& [id, client] : clients_) {
    if (client.name == name.substr(0, dot)) cancel.request = id;
  }
  if (dot != std::string::npos) cancel.sequence = std::stoi(name.substr(dot + 1));
  scheduler_->cancel(cancel, clock_.now());
}

void Scenario::explain(const std::string& line) {
  const size_t implies = line.find("=>");
  std::istringstream words(line.substr(std::string("explain").size(), implies - std::string("explain").size()));
  const Explanation explanation = scheduler_->explain(submission_of(options_of(words)));
  std::string answer(shortage_name(explanation.shortage));
  if (explanation.never_fits) answer = "never";
  if (explanation.is_admitted_now) answer = "now";
  answer +=
      " before=" + std::to_string(explanation.requests_before) + " cached=" + std::to_string(explanation.cached_tokens);
  EXPECT_EQ(answer, trimmed(line.substr(implies + 2)));
}

void Scenario::tick_often(int count) {
  for (int i = 0; i < count; ++i) {
    turn();
    for (const TokenEvent& event : scheduler_->take_events()) {
      if (!std::holds_alternative<Accepted>(event.what)) text_of(event);
    }
  }
}

void Scenario::tick(const std::string& line) {
  const size_t arrow = line.find("->");
  const size_t implies = line.find("=>");
  const std::string slices =
      arrow == std::string::npos
          ? ""
          : trimmed(line.substr(arrow + 2, implies == std::string::npos ? implies : implies - 2));
  const std::string events = implies == std::string::npos ? "" : trimmed(line.substr(implies + 2));

  EXPECT_EQ(turn(), slices) << "the step";
  std::vector<std::string> happened;
  for (const TokenEvent& event : scheduler_->take_events()) {
    if (!std::holds_alternative<Accepted>(event.what)) happened.push_back(text_of(event));
  }
  EXPECT_EQ(joined(happened), events) << "what happened";
}

std::string Scenario::turn() {
  const std::string slices = launch_next();
  if (!launched_.empty() && (slices.empty() || !may_launch_another())) collect_oldest();
  return slices;
}

bool Scenario::may_launch_another() const {
  return static_cast<int32_t>(launched_.size()) <= executor_->steps_ahead();
}

std::string Scenario::launch_next() {
  if (!scheduler_->may_plan()) return "";
  const StepPlan& plan = scheduler_->plan(clock_.now());
  if (plan.empty()) return "";
  std::vector<std::string> slices;
  for (const Slice& slice : plan.slices) {
    const std::string name = name_of(slice.sequence->submission().id, slice.sequence->index());
    slices.push_back(name + (slice.drawn_before >= 0 ? "*+" : "+") + std::to_string(slice.length));
  }
  build_batch(plan, pool_->growth(), batch_);
  EXPECT_TRUE(executor_->launch(batch_).ok());
  launched_.push_back(&plan);
  return joined(slices);
}

void Scenario::collect_oldest() {
  const StepPlan& plan = *launched_.front();
  launched_.pop_front();
  Result<engine::StepOutput> output = executor_->collect();
  clock_.advance(kStepTime + time_per_prompt_token_ * plan.prefill_tokens);
  if (output.ok()) return scheduler_->commit(plan, std::move(output).value(), clock_.now());
  for (; !launched_.empty(); launched_.pop_front()) EXPECT_FALSE(executor_->collect().ok());
  scheduler_->fail_step(output.status(), clock_.now());
}

void Scenario::expect(const Options& options) {
  const kvcache::SharedBlockCounts blocks = pool_->counts();
  const std::map<std::string, int64_t> figures = {{"used", blocks.used},
                                                  {"shared", blocks.shared},
                                                  {"known", blocks.cached},
                                                  {"cached", static_cast<int64_t>(scheduler_->totals().cached_tokens)},
                                                  {"paused", static_cast<int64_t>(scheduler_->totals().pauses)},
                                                  {"reserved", scheduler_->reserved_blocks()},
                                                  {"running", scheduler_->running_count()},
                                                  {"waiting", scheduler_->waiting_count()},
                                                  {"room", scheduler_->room()}};
  for (const auto& [key, value] : options) {
    ASSERT_TRUE(figures.contains(key)) << key;
    EXPECT_EQ(figures.at(key), std::stoi(value)) << key;
  }
}

std::string Scenario::name_of(RequestId id, int32_t sequence) const {
  const Client& client = clients_.at(id);
  return client.submission.sequence_count == 1 ? client.name : client.name + "." + std::to_string(sequence);
}

std::string Scenario::text_of(const TokenEvent& event) {
  Client& client = clients_.at(event.request);
  if (const auto* refused = std::get_if<Refused>(&event.what)) return client.name + failure_text(refused->status);
  if (const auto* failed = std::get_if<RequestFailed>(&event.what)) return client.name + failure_text(failed->status);
  if (const auto* finished = std::get_if<SequenceFinished>(&event.what)) {
    return name_of(event.request, finished->sequence) + reason_text(finished->reason);
  }
  if (const auto* scored = std::get_if<PromptScored>(&event.what)) {
    return client.name + "?" + std::to_string(scored->tokens.size());
  }
  const auto& sampled = std::get<TokenSampled>(event.what);
  const auto sequence = static_cast<size_t>(sampled.sequence);
  const size_t place = client.token_counts.at(sequence)++;
  EXPECT_EQ(sampled.token.token, client.expected.at(sequence).at(place))
      << "the output is the one of the request alone";
  return name_of(event.request, sampled.sequence) + "#" + std::to_string(place + 1);
}

}  // namespace sluice::scheduler
