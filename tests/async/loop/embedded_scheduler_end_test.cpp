// The construction and destruction of an embedded_scheduler, and its misuse.

#include "leat/async/loop/embedded_scheduler.hpp"

#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "support/descriptors.hpp"
#include "support/function_item.hpp"
#include "support/leat_test.hpp"

namespace embedded_scheduler_end_test {

using item = leat_test::function_item;
using leat::embedded_scheduler;

TEST_CASE("embedded_scheduler: closes its descriptors, also if its construction fails") {
  const std::size_t before = leat_test::open_descriptors();
  {
    const embedded_scheduler s;
    CHECK(leat_test::open_descriptors() == before + 3);
  }
  CHECK(leat_test::open_descriptors() == before);
  const int first_free = ::dup(0);
  ::close(first_free);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (rlim_t n = 0; n < 3; ++n) {
    const rlimit few{static_cast<rlim_t>(first_free) + n, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const std::error_code code = code_of([] { const embedded_scheduler s; });
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(code == errc::resource_exhausted);
  }
  CHECK(leat_test::open_descriptors() == before);
}

TEST_CASE("embedded_scheduler: can be destroyed as soon as a posted item has run") {
  // Regression: the posting thread was still in wake() when the scheduler was destroyed.
  for (int round = 0; round < 500; ++round) {
    bool ran = false;
    item last([&] { ran = true; });
    auto s = std::make_unique<embedded_scheduler>();
    std::thread other([sched = s.get(), &last] { sched->post(last); });
    while (!ran) s->run_ready();
    s.reset();
    other.join();
  }
}

TEST_CASE("embedded_scheduler: run_ready() in a task ends the process") {
  const std::string said = leat_test::abort_message([] {
    embedded_scheduler s;
    task_group group;
    group.spawn_on(s, [](embedded_scheduler& sched) -> task<> {
      sched.run_ready();
      co_return;
    }(s));
    s.run_ready();
  });
  CHECK(contains(said, "run_ready() called from a task"));
}

TEST_CASE("embedded_scheduler: run_ready(0) ends the process") {
  const std::string said = leat_test::abort_message([] {
    embedded_scheduler s;
    s.run_ready(0);
  });
  CHECK(contains(said, "run_ready(0)"));
}

TEST_CASE("embedded_scheduler: run_ready() on two threads at once ends the process") {
  const std::string said = leat_test::abort_message([] {
    embedded_scheduler s;
    item i([&] { std::thread([&] { s.run_ready(); }).join(); });
    s.post(i);
    s.run_ready();
  });
  CHECK(contains(said, "run_ready() called by two threads at once"));
}

TEST_CASE("embedded_scheduler: run_ready() in a child of fork() ends the child") {
  embedded_scheduler s;
  const std::string said = leat_test::abort_message([&] { s.run_ready(); });
  CHECK(contains(said, "a child of fork()"));
}

TEST_CASE("embedded_scheduler: destruction in its own turn ends the process") {
  const std::string said = leat_test::abort_message([] {
    auto s = std::make_unique<embedded_scheduler>();
    item i([&] { s.reset(); });
    s->post(i);
    s->run_ready();
  });
  CHECK(contains(said, "destroyed inside run_ready()"));
}

}  // namespace embedded_scheduler_end_test
