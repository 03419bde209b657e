#include <thread>

#include "leat/async/scheduler/scheduler_driver.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "support/leat_test.hpp"

// The wake-ups of operations on another scheduler, and the access of other threads to the lock.

namespace queue_wakeups_test {

using leat::sim::virtual_scheduler;

// A scheduler that counts its wake-ups from other schedulers.
class bell final : public leat::scheduler_driver {
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

TEST_CASE(
    "queue: wakes a push of another scheduler when the queue has drained to half, or at the end of "
    "the turn") {
  const int pops = GENERATE(4, 1);
  CAPTURE(pops);
  virtual_scheduler here;
  bell there;
  leat::fifo_queue<int> q(4);
  for (int i = 0; i < 4; ++i) REQUIRE(q.try_push(i));
  outcome pushed;
  std::vector<std::size_t> ready;
  task_group g;
  g.spawn_on(there, push_one(q, 4, pushed));
  there.run();
  g.spawn_on(here, pop_watching(q, there, pops, ready));
  here.run_now();
  // The first pop lets the push add its item, so the queue is full again. The third pop leaves two.
  CHECK(ready == (pops == 4 ? std::vector<std::size_t>{0, 0, 1, 1} : std::vector<std::size_t>{0}));
  if (pops == 1) CHECK(there.rung() == 1);
  there.run();
  CHECK(pushed.accepted);
  CHECK(q.size() == static_cast<std::size_t>(5 - pops));
}

TEST_CASE("queue: wakes a pop of another scheduler at once") {
  virtual_scheduler here;
  bell there;
  leat::fifo_queue<int> q(4);
  outcome popped;
  std::size_t ready = 0;
  task_group g;
  g.spawn_on(there, pop_one(q, popped));
  there.run();
  g.spawn_on(here, push_watching(q, there, ready));
  here.run_now();
  CHECK(ready == 1);
  there.run();
  CHECK(popped.items == std::vector<int>{1});
}

TEST_CASE("queue: a push is woken at once by a thread without a scheduler") {
  bell there;
  leat::fifo_queue<int> q(4);
  for (int i = 0; i < 4; ++i) REQUIRE(q.try_push(i));
  outcome pushed;
  task_group g;
  g.spawn_on(there, push_one(q, 4, pushed));
  there.run();
  CHECK(q.try_pop());
  CHECK(there.rung() == 1);
  there.run();
  CHECK(pushed.accepted);
}

// The first thread that uses a queue locks it on a path of its own, and must unlock it there.
TEST_CASE("queue: a second thread can enter after each call of the first") {
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

TEST_CASE("queue: blocking calls copy items and report a closed queue") {
  leat::fifo_queue<int> q(3);
  const int value = 7;
  CHECK(leat::block_on(q.push(value)));
  std::vector<int> two{8, 9};
  CHECK(leat::block_on(q.push_many(two)) == 2);
  CHECK(leat::block_on(q.pop_many(2)) == std::vector<int>{7, 8});
  q.close();
  CHECK_FALSE(leat::block_on(q.push(value)));
  CHECK(leat::block_on(q.pop_up_to(2)) == std::vector<int>{9});
  CHECK_FALSE(leat::block_on(q.pop_many(1)));
  CHECK_FALSE(leat::block_on(q.pop()));
}

TEST_CASE("queue: blocking calls throw the cause of a failure") {
  leat::fifo_queue<int> q(1);
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
  CHECK_THROWS_AS(leat::block_on(q.push(1)), leat::failure);
  CHECK_THROWS_AS(leat::block_on(q.pop()), leat::failure);
  CHECK_THROWS_AS(leat::block_on(q.pop_many(1)), leat::failure);
}

TEST_CASE("queue: a blocking call in a task ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      leat::fifo_queue<int> q(1);
      leat::block_on(q.push(1));
      co_return;
    }());
  });
  CHECK(contains(said, "blocking operation"));
}

}  // namespace queue_wakeups_test
