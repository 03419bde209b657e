#include "leat/base/write_all.hpp"

#include <chrono>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace write_all_test {

using namespace std::chrono_literals;

// A nonblocking pipe.
struct pipe_ends {
  pipe_ends() { REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0); }
  ~pipe_ends() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2] = {};
};

TEST_CASE("write_all: waits until a full pipe is read") {
  const pipe_ends p;
  const std::string text(1'000'000, 'x');
  std::size_t count = 0;
  std::thread reader([&] {
    char part[8192];
    while (count < text.size()) {
      const ssize_t n = ::read(p.ends[0], part, sizeof part);
      if (n > 0) count += static_cast<std::size_t>(n);
    }
  });
  const std::error_code error = leat::write_all(p.ends[1], text);
  reader.join();
  CHECK_FALSE(error);
  CHECK(count == text.size());
}

TEST_CASE("write_all: returns an error if a pipe remains full for the given time") {
  const pipe_ends p;
  const std::string text(1'000'000, 'x');
  CHECK(leat::write_all(p.ends[1], text, 1ms) == std::errc::resource_unavailable_try_again);
  CHECK(leat::write_all(p.ends[1], "x", 0ms) == std::errc::resource_unavailable_try_again);
  CHECK(leat::write_all(p.ends[1], "x", -600h) == std::errc::resource_unavailable_try_again);
  CHECK_FALSE(leat::write_all(p.ends[1], "", 0ms));
}

TEST_CASE("write_all: returns the error of the system") {
  CHECK(leat::write_all(-1, "x") == std::errc::bad_file_descriptor);
}

}  // namespace write_all_test
