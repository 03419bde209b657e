// Every kind of queue, memory budgets and loopers when their event loop is destroyed.

#include <algorithm>

#include "leat/coordination.hpp"
#include "leat/queue.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace scheduler_end_kinds_test {

using leat_test::asio_loop;
using leat_test::embedded_loop;
using leat_test::is_cancelled;

using numbers = std::vector<std::int64_t>;

const leat::element_spec& one_number() {
  static const leat::element_spec spec({{.type = leat::dtype::int64, .shape = {}}});
  return spec;
}

// Each kind makes a queue and its items.
template <class Queue>
struct of_items {
  using queue = Queue;
  static std::int64_t item(std::int64_t n) { return n; }
  static std::int64_t number(std::int64_t item) { return item; }
};
struct fifo : of_items<leat::fifo_queue<std::int64_t>> {
  static queue make() { return queue(8); }
};
struct priority : of_items<leat::priority_queue<std::int64_t>> {
  static queue make() { return queue(8); }
};
struct shuffle : of_items<leat::random_shuffle_queue<std::int64_t>> {
  static queue make() { return queue({.capacity = 8, .min_after_dequeue = 1, .seed = 7}); }
};
template <class Queue>
struct of_tensors {
  using queue = Queue;
  static queue make() { return queue(one_number(), 8); }
  static leat::tensor_tuple item(std::int64_t n) {
    return leat::tensor_tuple(leat::tensor::scalar(n));
  }
  static std::int64_t number(const leat::tensor_tuple& t) { return t[0].values<std::int64_t>()[0]; }
};
struct padding : of_tensors<leat::padding_fifo_queue> {};
struct tensor_priority : of_tensors<leat::tensor_priority_queue> {};
struct tensor_shuffle
    : of_tensors<leat::tensor_queue<leat::random_shuffle_queue<leat::tensor_tuple>>> {
  static queue make() { return queue(one_number(), leat::shuffle_options{.capacity = 8}); }
};

template <class Kind>
numbers drain(typename Kind::queue& q) {
  q.close();
  numbers all;
  while (auto item = q.try_pop()) all.push_back(Kind::number(*item));
  return all;
}

enum class how { pop, pop_many, pop_up_to, push };

template <class Kind>
task<> use(typename Kind::queue& q, how way, bool& continued) {
  if (way == how::pop) static_cast<void>(co_await q.pop());
  if (way == how::pop_many) static_cast<void>(co_await q.pop_many(2));
  if (way == how::pop_up_to) static_cast<void>(co_await q.pop_up_to(2));
  if (way == how::push) static_cast<void>(co_await q.push(Kind::item(100)));
  continued = true;
}

template <class Kind, class Loop>
void check_end(how way, bool served) {
  auto q = Kind::make();
  bool continued = false;
  numbers expected;
  const auto push = [&](std::int64_t n) {
    REQUIRE(q.try_push(Kind::item(n)));
    expected.push_back(n);
  };
  if (way == how::push) {
    for (std::int64_t n = 1; n <= 8; ++n) push(n);
  }
  task_group group;
  Loop loop;
  group.spawn_on(loop.get_scheduler(), use<Kind>(q, way, continued));
  loop.run_ready();
  if (served && way == how::push) {
    const auto taken = q.try_pop();
    REQUIRE(taken);
    std::erase(expected, Kind::number(*taken));
    expected.push_back(100);  // a completed push keeps its effect
  } else if (served) {
    for (std::int64_t n = 1; n <= 3; ++n) push(n);
  }
  CHECK(group.live_tasks() == 1);
  loop.end();
  CHECK_FALSE(continued);
  CHECK(is_cancelled(group));
  numbers found = drain<Kind>(q);
  const bool in_order = std::is_same_v<Kind, fifo> || std::is_same_v<Kind, padding>;
  if (in_order) CHECK(found == expected);
  std::ranges::sort(found);
  std::ranges::sort(expected);
  CHECK(found == expected);
}

TEMPLATE_TEST_CASE("queue and scheduler: a queue of each kind keeps all of its items",
                   "[coordination]", fifo, priority, shuffle, padding, tensor_priority,
                   tensor_shuffle) {
  for (const how way : {how::pop, how::pop_many, how::pop_up_to, how::push}) {
    for (const bool served : {false, true}) {
      INFO(static_cast<int>(way) << ' ' << served);
      check_end<TestType, asio_loop>(way, served);
      check_end<TestType, embedded_loop>(way, served);
    }
  }
}

struct own_weight {
  std::size_t operator()(std::int64_t n) const noexcept { return static_cast<std::size_t>(n); }
};

LEAT_LOOP_TEST("queue and scheduler: a destroyed push lets the next push use the memory budget") {
  leat::memory_budget ram(10, "ram");
  using queue = leat::fifo_queue<std::int64_t, own_weight>;
  queue a({.capacity = 8, .budget = &ram});
  queue b({.capacity = 8, .budget = &ram});
  REQUIRE(a.try_push(8));
  task_group group;
  task_group others;
  asio_loop living;
  TestType dying;
  const auto push = [](queue& q, std::int64_t n) -> task<> { co_await q.push(n); };
  group.spawn_on(dying.get_scheduler(), push(b, 9));
  dying.run_ready();
  others.spawn_on(living.get_scheduler(), push(a, 2));  // waits after the push that is destroyed
  living.run_ready();
  SECTION("waits") {}
  SECTION("was served") { REQUIRE(a.try_pop() == 8); }
  dying.end();
  living.run_ready();
  CHECK(is_cancelled(group));
  static_cast<void>(b.try_pop());
  static_cast<void>(a.try_pop());
  living.run_ready();
  leat::block_on(others.join());
  while (a.try_pop()) {
  }
  CHECK(ram.statistics().used == 0);
  REQUIRE(a.try_push(10));
}

LEAT_LOOP_TEST("scheduler: a looper is destroyed with its event loop") {
  leat::coordinator coord("loops");
  auto lives = std::make_shared<int>();
  const std::weak_ptr<int> watch = lives;
  int calls = 0;
  bool stopped = false;
  TestType loop;
  const leat::duration in_body = GENERATE(0ms, 1h);
  const auto body = [&calls, in_body, keep = std::move(lives)]() -> task<> {
    ++calls;
    co_await leat::sleep_for(in_body);
  };
  leat::looper_options options{.interval = 1h};
  options.stop_loop = [&stopped]() -> task<> {
    stopped = true;
    co_return;
  };
  coord.spawn_on(loop.get_scheduler(), leat::looper(body, std::move(options)), "looper");
  loop.run_ready();
  CHECK(calls == 1);
  loop.end();
  CHECK_FALSE(stopped);  // destruction runs no code of a task except destructors
  CHECK(coord.live_tasks() == 0);
  CHECK_THROWS_AS(leat::block_on(coord.join()), leat::failure);
}

}  // namespace scheduler_end_kinds_test
