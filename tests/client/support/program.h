#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice::test_support {

/// How a program ended.
struct Ended {
  int exit_code = -1;  ///< 128 + the signal's number if a signal ended it
  std::string out;
  std::string err;
};

/// A real program as a child process, with its three streams on pipes. Killed if it still runs when this is destroyed.
class Program {
 public:
  /// `environment` is added to ours ("NAME=value"), without our SLUICE_ADDRESS. `input` is all of its stdin and must
  /// fit into a pipe.
  Program(const std::string& path, std::vector<std::string> arguments, const std::string& input = "",
          std::vector<std::string> environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Blocks until that much of stdout has come, or it has ended; returns what has come so far.
  const std::string& read_out(size_t bytes);
  void send_signal(int number);
  /// Reads both streams to their ends and waits for the exit.
  Ended wait();

 private:
  /// False once both streams have ended.
  bool read_some();

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Ended ended_;
  bool has_ended_ = false;
};

}  // namespace sluice::test_support
