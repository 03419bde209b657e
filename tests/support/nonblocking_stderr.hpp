#pragma once

#include <atomic>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace leat_test {

/// Calls `f` while standard error is a nonblocking pipe. The pipe is not read until it is full or
/// `f` has returned. Returns the text that was written to it.
template <class Function>
std::string text_of_nonblocking_stderr(Function f) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  const int before = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  std::string text;
  std::atomic<bool> has_returned{false};
  std::thread reader([&] {
    pollfd writable{ends[1], POLLOUT, 0};
    while (!has_returned && ::poll(&writable, 1, 0) == 1) std::this_thread::yield();
    char part[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;) {
      text.append(part, static_cast<std::size_t>(n));
    }
  });
  f();
  has_returned = true;
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  return text;
}

}  // namespace leat_test
