// The registries of scopes and threads in a child of fork() while other threads of its parent use
// them.

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "async/internal/scope_registry.hpp"
#include "async/thread_registry.hpp"
#include "leat/async/internal/thread_record.hpp"
#include "support/child_process.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace registries_fork_test {

// Follows all links, as a dump does. It locks no scope: a thread of the parent may have held it.
void walk() {
  const leat::detail::scope_registry::lock_all scopes;
  scopes.each([](const leat::task_scope&) {});
  const std::lock_guard lock(leat::detail::thread_registry::mutex());
  const leat::detail::thread_record* t = leat::detail::thread_registry::first();
  while (t) t = leat::detail::thread_registry::next(*t);
}

// Calls `use` on two threads while children of fork() call `use` and follow the links.
template <class Use>
void fork_meanwhile(Use use) {
  std::atomic<bool> over{false};
  std::vector<std::jthread> users;
  for (int i = 0; i < 2; ++i) {
    users.emplace_back([&] {
      while (!over) use();
    });
  }
  for (std::uint64_t i = 0; i < leat_test::scaled_count(1000); ++i) {
    const std::string said = leat_test::run_in_child([&] {
      ::alarm(60);  // a child that hangs is killed
      use();
      walk();
      return std::string("ended");
    });
    CHECK(said == "ended");
    if (said != "ended") break;
  }
  over = true;
}

TEST_CASE("scope_registry: a child of fork() uses it while threads of its parent do") {
  fork_meanwhile([] {
    task_group outer("outer");
    const task_group inner("inner");
  });
}

TEST_CASE("scope_registry: threads whose first scopes are created during fork()") {
  fork_meanwhile([] {
    if (::gettid() != ::getpid()) std::thread([] { const task_group first; }).join();
    const task_group group;
  });
}

TEST_CASE("thread_registry: a child of fork() uses it while threads of its parent do") {
  fork_meanwhile([] { const leat::detail::thread_record record({}, "thread", true); });
}

}  // namespace registries_fork_test
