#include <chrono>
#include <thread>

#include "leat/async/task_group.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "queue/operation/queue_tasks.hpp"

// The wake-ups of operations on another scheduler, and the access of other threads to the lock.

namespace queue_wakeups_test {

using leat::sim::virtual_scheduler;

// A scheduler that counts its wake-ups from other schedulers.
class bell final : public leat::scheduler {
 public:
  [[nodiscard]] leat::time_point now() const noexcept override { return {}; }
  void work_started() noexcept override {}
  void work_finished() noexcept override {}

  [[nodiscard]] std::size_t rung() const noexcept { return rung_; }
  void run() {
    while (run_ready(1000)) {
    }
    rung_ = 0;
  }

 private:
  void wake() noexcept override { ++rung_; }
  void arm(leat::time_point) noexcept override {}

  std::size_t rung_ = 0;
};

// Pops items one by one. After each item, notes the number of wake-ups of another scheduler.
task<> pop_watching(leat::fifo_queue<int>& q, bell& elsewhere, int count,
                    std::vector<std::size_t>& ready) {
  for (int i = 0; i < count; ++i) {
    static_cast<void>(co_await q.pop());
    ready.push_back(elsewhere.rung());
  }
}

task<> push_watching(leat::fifo_queue<int>& q, bell& elsewhere, std::size_t& ready) {
  static_cast<void>(co_await q.push(1));
  ready = elsewhere.rung();
}

TEST_CASE("queue: wakes a push of another scheduler when the queue has drained to half",
          "[queue]") {
  virtual_scheduler here;
  bell there;
  leat::fifo_queue<int> q(4);
  for (int i = 0; i < 4; ++i) REQUIRE(q.try_push(i));
  outcome pushed;
  std::vector<std::size_t> ready;
  leat::task_group g;
  g.spawn_on(there, push_one(q, 4, pushed));
  there.run();
  g.spawn_on(here, pop_watching(q, there, 4, ready));
  here.run_now();
  // The first pop lets the push add its item, so the queue is full again. The third pop leaves two.
  CHECK(ready == std::vector<std::size_t>{0, 0, 1, 1});
  there.run();
  CHECK(pushed.accepted);
  CHECK(q.size() == 1);
}

TEST_CASE("queue: wakes a push of another scheduler at the end of the turn at the latest",
          "[queue]") {
  virtual_scheduler here;
  bell there;
  leat::fifo_queue<int> q(4);
  for (int i = 0; i < 4; ++i) REQUIRE(q.try_push(i));
  outcome pushed;
  std::vector<std::size_t> ready;
  leat::task_group g;
  g.spawn_on(there, push_one(q, 4, pushed));
  there.run();
  g.spawn_on(here, pop_watching(q, there, 1, ready));
  here.run_now();
  CHECK(ready == std::vector<std::size_t>{0});
  CHECK(there.rung() == 1);
  there.run();
  CHECK(pushed.accepted);
}

TEST_CASE("queue: wakes a pop of another scheduler at once", "[queue]") {
  virtual_scheduler here;
  bell there;
  leat::fifo_queue<int> q(4);
  outcome popped;
  std::size_t ready = 0;
  leat::task_group g;
  g.spawn_on(there, pop_one(q, popped));
  there.run();
  g.spawn_on(here, push_watching(q, there, ready));
  here.run_now();
  CHECK(ready == 1);
  there.run();
  CHECK(popped.items == std::vector<int>{1});
}

TEST_CASE("queue: a push is woken at once by a thread without a scheduler", "[queue]") {
  bell there;
  leat::fifo_queue<int> q(4);
  for (int i = 0; i < 4; ++i) REQUIRE(q.try_push(i));
  outcome pushed;
  leat::task_group g;
  g.spawn_on(there, push_one(q, 4, pushed));
  there.run();
  CHECK(q.try_pop());
  CHECK(there.rung() == 1);
  there.run();
  CHECK(pushed.accepted);
}

// The first thread that uses a queue locks it on a path of its own, and must unlock it there.
TEST_CASE("queue: a second thread can enter after each call of the first", "[queue]") {
  leat::fifo_queue<int> q(4);
  const auto size_elsewhere = [&q] {
    std::size_t size = 0;
    std::thread([&] { size = q.size(); }).join();
    return size;
  };
  CHECK(q.try_push(1));
  CHECK(q.try_push(2));
  CHECK(size_elsewhere() == 2);
  leat::fifo_queue<int> other(4);
  CHECK(other.try_push(1));
  CHECK(other.try_pop() == 1);
  CHECK_FALSE(other.try_pop());
  CHECK(other.try_push(1));
  CHECK(other.try_pop() == 1);
  std::thread([&] { CHECK(other.size() == 0); }).join();
}

TEST_CASE("queue: blocking calls copy items and report a closed queue", "[queue]") {
  leat::fifo_queue<int> q(3);
  const int value = 7;
  CHECK(q.wait_push(value));
  std::vector<int> two{8, 9};
  CHECK(q.wait_push_many(two) == 2);
  CHECK(q.wait_pop_many(2) == std::vector<int>{7, 8});
  q.close();
  CHECK_FALSE(q.wait_push(value));
  CHECK(q.wait_pop_up_to(2) == std::vector<int>{9});
  CHECK_FALSE(q.wait_pop_many(1));
  CHECK_FALSE(q.wait_pop());
}

TEST_CASE("queue: blocking calls throw the cause of a failure", "[queue]") {
  leat::fifo_queue<int> q(1);
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
  CHECK_THROWS_AS(q.wait_push(1), leat::failure);
  CHECK_THROWS_AS(q.wait_pop(), leat::failure);
  CHECK_THROWS_AS(q.wait_pop_many(1), leat::failure);
}

TEST_CASE("queue: a blocking call in a task ends the process with a message", "[queue]") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      leat::fifo_queue<int> q(1);
      q.wait_push(1);
      co_return;
    }());
  });
  CHECK(said.find("blocking operation on a scheduler thread") != said.npos);
}

}  // namespace queue_wakeups_test
