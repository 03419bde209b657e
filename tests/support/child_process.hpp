#pragma once

#include <cerrno>
#include <csignal>
#include <exception>
#include <initializer_list>
#include <string>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

namespace leat_test {

/// The end of a child process.
struct child_end {
  std::string output;  ///< the text that it wrote to the pipe
  int status = 0;      ///< as stored by waitpid()

  /// Returns the signal that ended it, or 0.
  [[nodiscard]] int signal() const noexcept { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

/// Forks, and calls `f` in the child with the descriptor of a pipe. The child exits with the int
/// that `f` returns. Returns the text that it wrote to the pipe, after its end. `signals` have
/// their default effect in the child instead of Catch's.
template <class Function>
child_end fork_and_read(std::initializer_list<int> signals, Function f) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int s : signals) std::signal(s, SIG_DFL);
    try {
      std::_Exit(f(pipe_ends[1]));
    } catch (...) {  // also exceptions of Catch: the child must not run further tests
      std::_Exit(1);
    }
  }
  ::close(pipe_ends[1]);
  child_end end;
  char part[4096];
  while (const ssize_t n = ::read(pipe_ends[0], part, sizeof part)) {
    if (n < 0) break;
    end.output.append(part, static_cast<std::size_t>(n));
  }
  ::close(pipe_ends[0]);
  ::waitpid(child, &end.status, 0);
  return end;
}

/// Runs `f` in a child process and returns the string that `f` returns. Describes the exception or
/// signal if the child ends with one. A child that hangs is killed after an hour.
template <class Function>
std::string run_in_child(Function f) {
  const child_end end = fork_and_read({SIGABRT, SIGSEGV, SIGALRM}, [&](int pipe) {
    ::alarm(3600);
    std::string words;
    try {
      words = f();
    } catch (const std::exception& e) {
      words = std::string("exception: ") + e.what();
    }
    const bool written =
        ::write(pipe, words.data(), words.size()) == static_cast<ssize_t>(words.size());
    return written ? 0 : 1;
  });
  return end.signal() != 0 ? "signal " + std::to_string(end.signal()) : end.output;
}

}  // namespace leat_test
