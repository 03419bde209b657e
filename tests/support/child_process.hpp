#pragma once

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace leat_test {

/// Runs `f` in a child process and returns the string that `f` returns. Describes the exception or
/// signal if the child ends with one. A child that hangs is killed after an hour.
template <class Function>
std::string run_in_child(Function f) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(3600);
    for (const int s : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(s, SIG_DFL);  // instead of Catch's
    std::string words;
    try {
      words = f();
    } catch (const std::exception& e) {
      words = std::string("exception: ") + e.what();
    }
    const bool written =
        ::write(pipe_ends[1], words.data(), words.size()) == static_cast<ssize_t>(words.size());
    std::_Exit(written ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  std::string output;
  char part[4096];
  while (const ssize_t n = ::read(pipe_ends[0], part, sizeof part)) {
    if (n < 0) break;
    output.append(part, static_cast<std::size_t>(n));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return output;
}

}  // namespace leat_test
