#include "tests/client/support/program.h"

#include <array>
#include <csignal>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

namespace sluice::test_support {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  SLUICE_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0);
  return {.read_end = ends[0], .write_end = ends[1]};
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

void add_our_environment(std::vector<std::string>& environment) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("SLUICE_ADDRESS=")) environment.emplace_back(*entry);
  }
}

/// What came, or nothing at the end.
std::string read_once(int stream) {
  std::array<char, 4096> buffer{};
  const ssize_t bytes = read(stream, buffer.data(), buffer.size());
  return bytes > 0 ? std::string(buffer.data(), static_cast<size_t>(bytes)) : std::string();
}

void take(int& stream, short events, std::string& text) {
  if (stream < 0 || events == 0) return;
  const std::string piece = read_once(stream);
  text += piece;
  if (!piece.empty()) return;
  close(stream);
  stream = -1;
}

}  // namespace

Program::Program(const std::string& path, std::vector<std::string> arguments, const std::string& input,
                 std::vector<std::string> environment) {
  const Pipe in = open_pipe();
  const Pipe out = open_pipe();
  const Pipe err = open_pipe();
  SLUICE_CHECK(write(in.write_end, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  arguments.insert(arguments.begin(), path);
  add_our_environment(environment);
  SLUICE_CHECK(posix_spawn(&pid_, path.c_str(), &actions, nullptr, pointers_to(arguments).data(),
                           pointers_to(environment).data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  for (const int end : {in.read_end, in.write_end, out.write_end, err.write_end}) close(end);
  out_ = out.read_end;
  err_ = err.read_end;
}

Program::~Program() {
  if (!has_ended_) {
    send_signal(SIGKILL);
    static_cast<void>(wait());
  }
}

bool Program::read_some() {
  if (out_ < 0 && err_ < 0) return false;
  std::array<pollfd, 2> streams{pollfd{.fd = out_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = err_, .events = POLLIN, .revents = 0}};
  if (poll(streams.data(), streams.size(), -1) < 0) return true;
  take(out_, streams[0].revents, ended_.out);
  take(err_, streams[1].revents, ended_.err);
  return true;
}

const std::string& Program::read_out(size_t bytes) {
  while (ended_.out.size() < bytes && read_some()) {
  }
  return ended_.out;
}

void Program::send_signal(int number) {
  kill(pid_, number);
}

Ended Program::wait() {
  while (read_some()) {
  }
  int state = 0;
  SLUICE_CHECK(waitpid(pid_, &state, 0) == pid_);
  has_ended_ = true;
  ended_.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return std::move(ended_);
}

}  // namespace sluice::test_support
