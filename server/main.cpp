#include <csignal>
#include <cstdio>
#include <span>

#include "server/app.h"
#include "server/flags.h"

int main(int argc, char** argv) {
  using namespace sluice::server;
  // A closed stdout or socket is an error value, not the end.
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) std::perror("sluiced: can't ignore SIGPIPE");
  const std::span<const char* const> arguments(argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0));
  const auto parsed = parse_command_line(arguments, SLUICE_VERSION);
  if (const auto* exit = std::get_if<EarlyExit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->code == 0 ? stdout : stderr);
    return exit->code;
  }
  if (const auto* verify = std::get_if<VerifyModel>(&parsed)) return run_model_check(verify->config);
  return run_app(std::get<Config>(parsed), SLUICE_VERSION);
}
