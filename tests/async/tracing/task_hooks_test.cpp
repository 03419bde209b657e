#include "leat/async/tracing/task_hooks.hpp"

#include <algorithm>
#include <atomic>

#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace task_hooks_test {

constinit leat::task_local<int> number("number");

// Records the events of the tasks that have a name.
class recorder : public leat::task_hooks {
 public:
  explicit recorder(std::string prefix = {}, std::vector<std::string>* to = nullptr)
      : prefix_(std::move(prefix)), events_(to ? to : &own_) {}

  void on_start(const leat::task_context& t) noexcept override { add(t, "start"); }
  void on_resume(const leat::task_context& t) noexcept override { add(t, "resume"); }
  void on_wait(const leat::task_context& t, const leat::wait_operation& w) noexcept override {
    add(t, "wait for " + std::string(w.what().verb));
  }
  void on_end(const leat::task_context& t, const std::exception_ptr& error) noexcept override {
    add(t, error ? "fail" : "end");
  }

  [[nodiscard]] const std::vector<std::string>& events() const { return *events_; }

 private:
  void add(const leat::task_context& t, const std::string& event) {
    if (t.name().empty()) return;
    const int* const n = number.get(t);
    events_->push_back(prefix_ + std::string(t.name()) + " " + event +
                       (n ? " " + std::to_string(*n) : ""));
  }

  const std::string prefix_;
  std::vector<std::string> own_;
  std::vector<std::string>* const events_;
};

task<> nap() { co_await leat::sleep_for(1ms); }
task<> nap_and_yield() {
  co_await nap();
  co_await leat::this_task::yield();
}

LEAT_TEST("hooks: report start, waits, resumptions and end of a task in order") {
  const auto record = std::make_shared<recorder>();
  {
    const leat::task_hooks_scope installed(record);
    task_group group;
    group.spawn(nap_and_yield(), "a");
    co_await group.join();
  }
  CHECK(record->events() == std::vector<std::string>{"a start", "a wait for sleep", "a resume",
                                                     "a wait for yield", "a resume", "a end"});
}

task<> fail() {
  co_await nap();
  throw std::runtime_error("failed");
}

LEAT_TEST("hooks: report the exception of a task that has failed") {
  const auto record = std::make_shared<recorder>();
  const leat::task_hooks_scope installed(record);
  task_group group;
  group.spawn(fail(), "a");
  CHECK(co_await throws<std::runtime_error>(group.join()));
  CHECK(record->events().back() == "a fail");
}

LEAT_TEST("hooks: a task that had started before they were installed begins in the middle") {
  const auto record = std::make_shared<recorder>();
  task_group group;
  group.spawn(nap(), "a");
  co_await leat::this_task::yield();
  {
    const leat::task_hooks_scope installed(record);
    co_await group.join();
  }
  CHECK(record->events() == std::vector<std::string>{"a resume", "a end"});
}

LEAT_TEST("hooks: are not called after they were removed") {
  const auto record = std::make_shared<recorder>();
  task_group group;
  {
    const leat::task_hooks_scope installed(record);
    group.spawn(nap(), "a");
    co_await leat::this_task::yield();
  }
  co_await group.join();
  CHECK(record->events() == std::vector<std::string>{"a start", "a wait for sleep"});
  CHECK(record.use_count() == 1);
}

LEAT_TEST("hooks: several are called in the order of their installation") {
  std::vector<std::string> events;
  const auto first = std::make_shared<recorder>("1 ", &events);
  const auto second = std::make_shared<recorder>("2 ", &events);
  const auto again = std::make_shared<leat::task_hooks_scope>(first);
  {
    const leat::task_hooks_scope installed(second);
    task_group group;
    group.spawn(nap(), "a");
    co_await group.join();
  }
  CHECK(events == std::vector<std::string>{"1 a start", "2 a start", "1 a wait for sleep",
                                           "2 a wait for sleep", "1 a resume", "2 a resume",
                                           "1 a end", "2 a end"});
}

LEAT_TEST("hooks: one object that is installed twice is called twice") {
  const auto record = std::make_shared<recorder>();
  const leat::task_hooks_scope installed(record);
  {
    const leat::task_hooks_scope twice(record);
    task_group group;
    group.spawn([]() -> task<> { co_return; }(), "a");
    co_await group.join();
  }
  CHECK(record->events() == std::vector<std::string>{"a start", "a start", "a end", "a end"});
}

LEAT_TEST("hooks: read the task-locals of a task") {
  const auto record = std::make_shared<recorder>();
  const leat::task_hooks_scope installed(record);
  task_group group;
  group.spawn(number.with(7, nap()), "a");
  co_await group.join();
  CHECK(record->events() ==
        std::vector<std::string>{"a start", "a wait for sleep 7", "a resume 7", "a end"});
}

LEAT_LOOP_TEST("hooks: report tasks that are destroyed with their loop") {
  const auto record = std::make_shared<recorder>();
  const leat::task_hooks_scope installed(record);
  task_group group;
  TestType loop;
  group.spawn_on(loop.get_scheduler(), number.with(7, nap()), "waiting");
  loop.run_ready();
  group.spawn_on(loop.get_scheduler(), nap(), "unstarted");
  loop.end();
  CHECK(leat_test::is_cancelled(group));
  std::vector<std::string> ends(record->events().end() - 2, record->events().end());
  std::ranges::sort(ends);
  CHECK(ends == std::vector<std::string>{"unstarted fail", "waiting fail"});
}

struct counter : leat::task_hooks {
  void on_start(const leat::task_context&) noexcept override { ++started; }
  void on_end(const leat::task_context&, const std::exception_ptr&) noexcept override { ++ended; }
  std::atomic<int> started{0};
  std::atomic<int> ended{0};
};

TEST_CASE("hooks: schedulers on several threads call them") {
  const auto count = std::make_shared<counter>();
  leat::runtime pool({.threads = 3});
  {
    const leat::task_hooks_scope installed(count);
    task_group group;
    for (int i = 0; i < 300; ++i) group.spawn_on(pool.next_scheduler(), nap());
    leat::block_on(group.join());
  }
  CHECK(count->started == 300);
  CHECK(count->ended == 300);
}

TEST_CASE("hooks: can be installed and removed while tasks run") {
  leat::runtime pool({.threads = 2});
  task_group group;
  const auto spin = []() -> task<> {
    for (int i = 0; i < 20'000; ++i) co_await leat::this_task::yield();
  };
  for (int i = 0; i < 4; ++i) group.spawn_on(pool.next_scheduler(), spin());
  for (int i = 0; i < 200; ++i) {
    const leat::task_hooks_scope installed(std::make_shared<counter>());
  }
  leat::block_on(group.join());
}

TEST_CASE("hooks: removal inside a hook ends the process with a message") {
  struct remover : leat::task_hooks {
    void on_start(const leat::task_context&) noexcept override { scope.reset(); }
    std::unique_ptr<leat::task_hooks_scope> scope;
  };
  const std::string message = leat_test::abort_message([] {
    const auto hooks = std::make_shared<remover>();
    hooks->scope = std::make_unique<leat::task_hooks_scope>(hooks);
    leat::sim::run(nap());
  });
  CHECK_THAT(message, Catch::Contains("hooks installed or removed by a hook"));
}

}  // namespace task_hooks_test
