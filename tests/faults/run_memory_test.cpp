// run() without memory: it ends with 1 and one line, and leaks nothing.

#include <cstdio>
#include <fcntl.h>
#include <new>
#include <sstream>
#include <unistd.h>

#include "faults/failing_allocations.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace run_memory_test {

// Writes standard error to a file during its lifetime.
class redirected_errors {
 public:
  explicit redirected_errors(const std::string& path) : before_(::dup(STDERR_FILENO)) {
    std::fflush(stderr);
    const int to = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(to, STDERR_FILENO);
    ::close(to);
  }
  redirected_errors(const redirected_errors&) = delete;
  ~redirected_errors() {
    std::fflush(stderr);
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

task<> nap() { co_await leat::sleep_for(std::chrono::microseconds(100)); }

task<int> main_task() {
  leat::task_group group("a group with a name that is not short");
  group.spawn(nap());
  co_await group.join();
  co_return 7;
}

task<> failing_task() {
  co_await nap();
  throw std::runtime_error("a message that is too long for a small string");
}

TEST_CASE("allocation: run() of a task without memory returns 1", "[faults]") {
  const temp_dir dir;
  {
    const redirected_errors here(dir / "errors");
    leat_test::fail_each_allocation([] {
      const int code = leat::run([] { return main_task(); });
      if (code == 1) throw std::bad_alloc();
      CHECK(code == 7);
    });
  }
  std::istringstream lines(temp_dir::read(dir / "errors"));
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) CHECK(line == "error: out of memory");
  CHECK(count > 3);
}

TEST_CASE("allocation: run() prints the error of a task even without memory", "[faults]") {
  const temp_dir dir;
  bool all_failed = true;
  {
    const redirected_errors here(dir / "errors");
    bool reached = true;
    for (int n = 0; reached && n < 1000; ++n) {
      leat_test::until_failure = n;
      leat_test::run_once([&] { all_failed &= leat::run([] { return failing_task(); }) == 1; },
                          reached);
    }
    CHECK_FALSE(reached);
  }
  CHECK(all_failed);
  std::istringstream lines(temp_dir::read(dir / "errors"));
  std::string line;
  std::string last;
  for (; std::getline(lines, line); last = line) {
    const bool expected = line == "error: out of memory" ||
                          line == "error: a message that is too long for a small string";
    CHECK(expected);
  }
  CHECK(last == "error: a message that is too long for a small string");
}

}  // namespace run_memory_test
