// Prompts of one chat template, as `sluice render` writes them but all in one process.
//
// usage: render_prompts FILE.jinja BOS EOS NOW
//
// A line of stdin is {"messages": JSON, "tools": JSON or null, "add_generation_prompt": bool}, where JSON is a text;
// its line of stdout is {"text": TEXT} or {"error": WORDS}.

#include <chrono>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "offline/render.h"

namespace {

using nlohmann::json;

json rendered(sluice::offline::RenderOptions options, const json& asked) {
  options.prompt.messages_json = asked["messages"];
  if (!asked["tools"].is_null()) options.prompt.tools_json = asked["tools"].get<std::string>();
  options.prompt.add_generation_prompt = asked["add_generation_prompt"];
  const auto runs = sluice::offline::render_prompt(options);
  if (!runs.ok()) return {{"error", runs.status().message()}};
  std::string text;
  for (const sluice::engine::TextRun& run : *runs) text += run.text;
  return {{"text", text}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: render_prompts FILE.jinja BOS EOS NOW\n";
    return 2;
  }
  sluice::offline::RenderOptions options;
  options.path = argv[1];
  options.tokens = {.bos = argv[2], .eos = argv[3]};
  options.prompt.now = std::chrono::system_clock::time_point(std::chrono::seconds(std::stoll(argv[4])));
  for (std::string line; std::getline(std::cin, line);) std::cout << rendered(options, json::parse(line)) << '\n';
}
