#include "leat/sim/world/world.hpp"

#include <algorithm>

#include "leat/coordination/coordinator.hpp"
#include "leat/io/file/file.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace world_test {

using leat::sim::world;

task<> note(std::vector<int>& order, int value) {
  order.push_back(value);
  co_return;
}

// Runs three tasks of three steps each on the threads of the world, and returns the order of the
// steps.
std::vector<int> order_of(std::uint64_t seed, std::size_t threads,
                          std::vector<std::string>* lines) {
  std::vector<int> order;
  world w(seed, {.threads = threads});
  if (lines) w.trace();
  w.run([&order](world& here) -> task<> {
    task_group group;
    const auto steps = [](std::vector<int>& out, int value) -> task<> {
      for (int i = 0; i < 3; ++i) {
        out.push_back(value);
        co_await leat::this_task::yield();
        co_await leat::sleep_for(1ms);
      }
    };
    for (int i = 0; i < 3; ++i) {
      group.spawn_on(here.thread(static_cast<std::size_t>(i) % here.threads()), steps(order, i));
    }
    co_await group.join();
  });
  if (lines) *lines = w.schedule();
  return order;
}

TEST_CASE("world: equal seeds repeat a run, other seeds do not") {
  for (const std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
    std::vector<std::string> first_lines;
    std::vector<std::string> again_lines;
    const std::vector<int> first = order_of(1, threads, &first_lines);
    CHECK(first.size() == 9);
    CHECK(order_of(1, threads, &again_lines) == first);
    CHECK(first_lines == again_lines);
    std::size_t different = 0;
    for (std::uint64_t seed = 2; seed < 30; ++seed) {
      if (order_of(seed, threads, nullptr) != first) ++different;
    }
    CHECK(different > 20);
  }
}

TEST_CASE("world: a run can be repeated from its decisions") {
  const auto program = [](std::vector<int>& order) {
    return [&order](world&) -> task<> {
      task_group group;
      for (int i = 0; i < 6; ++i) group.spawn(note(order, i));
      co_await group.join();
    };
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int> first;
    world w(seed);
    w.run(program(first));
    std::vector<std::uint32_t> script;
    for (const auto& c : w.decisions().made()) script.push_back(c.chosen);
    std::vector<int> again;
    world(script, seed).run(program(again));
    CHECK(again == first);
    std::vector<int> plain;
    world(std::vector<std::uint32_t>(), seed).run(program(plain));
    CHECK(plain == std::vector{0, 1, 2, 3, 4, 5});
  }
}

TEST_CASE("world: time advances only when nothing can run") {
  world w(3, {.threads = 2});
  w.run([](world& here) -> task<> {
    const leat::time_point begin = here.now();
    task_group group;
    group.spawn_on(here.thread(1), []() -> task<> { co_await leat::sleep_for(1h); }());
    for (int i = 0; i < 100; ++i) co_await leat::this_task::yield();
    CHECK(here.now() == begin);
    co_await group.join();
    CHECK(here.now() == begin + 1h);
    const auto wall = here.wall_clock();
    here.jump_wall_clock(-1h);
    CHECK(here.wall_clock() == wall - 1h);
    CHECK(here.thread(0).wall_time() == wall - 1h);
    CHECK(here.thread(1).wall_time() == wall - 1h);
    CHECK(here.now() == begin + 1h);
  });
}

std::int64_t nanoseconds_of(leat::wall_time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

TEST_CASE("world: files that a test writes before the first step have the wall time") {
  world w(1);
  const std::int64_t begin = nanoseconds_of(w.wall_clock());
  w.files().write_file("/first", "1");
  w.jump_wall_clock(1h);
  w.files().write_file("/later", "2");
  w.run([begin](world& here) -> task<> {
    const leat::file_status first = co_await leat::get_status("/first");
    const leat::file_status later = co_await leat::get_status("/later");
    CHECK(first.modified_ns == begin);
    CHECK(later.modified_ns == begin + std::chrono::nanoseconds(1h).count());
    here.jump_wall_clock(1h);
    here.files().write_file("/now", "3");
    const leat::file_status now = co_await leat::get_status("/now");
    CHECK(now.modified_ns == nanoseconds_of(here.wall_clock()));
  });
}

TEST_CASE("world: threads share a queue in every order without loss") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {.threads = 3});
    int sum = 0;
    w.run([&sum](world& here) -> task<> {
      leat::fifo_queue<int> q(2, "q");
      here.add_invariants(q);
      task_group producers;
      task_group consumers;
      const auto produce = [](leat::fifo_queue<int>& to) -> task<> {
        for (int i = 1; i <= 10; ++i) co_await to.push(i);
      };
      const auto consume = [](leat::fifo_queue<int>& from, int& total) -> task<> {
        while (const auto item = co_await from.pop()) total += *item;
      };
      producers.spawn_on(here.thread(0), produce(q));
      producers.spawn_on(here.thread(1), produce(q));
      consumers.spawn_on(here.thread(2), consume(q, sum));
      consumers.spawn_on(here.thread(1), consume(q, sum));
      co_await producers.join();
      q.close();
      co_await consumers.join();
      here.clear_invariants();
    });
    REQUIRE(sum == 110);
  }
}

TEST_CASE("world: reports a deadlock at once with the tasks of every thread") {
  world w(1, {.threads = 2});
  const std::string what = error_of([&] {
    w.run([](world& here) -> task<> {
      leat::fifo_queue<int> a(1, "a");
      leat::fifo_queue<int> b(1, "b");
      task_group group;
      const auto wait_for = [](leat::fifo_queue<int>& first) -> task<> { co_await first.pop(); };
      group.spawn_on(here.thread(0), wait_for(a), "left");
      group.spawn_on(here.thread(1), wait_for(b), "right");
      co_await group.join();
    });
  });
  INFO(what);
  CHECK(contains(what, "deadlock: "));
  CHECK(contains(what, "left: pop from queue 'a'"));
  CHECK(contains(what, "right: pop from queue 'b'"));
  w.run([](world&) -> task<> { co_await leat::sleep_for(1s); });  // the world continues
}

TEST_CASE("world: an invariant that does not hold ends the run with its name") {
  world w(1);
  int value = 0;
  w.always("value is below 3", [&] { return value < 3; });
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    for (; value < 10; ++value) co_await leat::this_task::yield();
  }),
                    Catch::Contains("does not hold: value is below 3"));
  CHECK(w.steps() >= 3);
}

TEST_CASE("world: a run without an end is ended") {
  world w(1, {.max_steps = 1000});
  CHECK_THROWS_AS(w.run([](world&) -> task<> {
    while (!leat::this_task::stop_requested()) {
      co_await leat::this_task::yield();
    }
  }),
                  leat::sim::step_limit_exceeded);
}

// Two threads check that a queue is empty and then push an item. This is a race, because the other
// thread may run between the two calls, where no task suspends.
std::size_t items_of_a_race(std::uint64_t seed, double preemption) {
  std::size_t items = 0;
  world w(seed, {.threads = 2, .preemption = preemption});
  w.run([&items](world& here) -> task<> {
    leat::fifo_queue<int> q(8, "q");
    task_group group;
    const auto add_if_empty = [](leat::fifo_queue<int>& to) -> task<> {
      if (to.size() == 0) static_cast<void>(to.try_push(1));
      co_return;
    };
    group.spawn_on(here.thread(0), add_if_empty(q));
    group.spawn_on(here.thread(1), add_if_empty(q));
    co_await group.join();
    items = q.size();
    q.close();
  });
  return items;
}

TEST_CASE("world: a thread is pre-empted at locks, between two suspensions") {
  std::size_t races = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    if (items_of_a_race(seed, 0.2) == 2) ++races;
    REQUIRE(items_of_a_race(seed, 0) == 1);
    REQUIRE(items_of_a_race(seed, 0.2) == items_of_a_race(seed, 0.2));  // replays
  }
  CHECK(races > 5);
}

task<> rethrow_with_locks(leat::fifo_queue<int>& q, int number, int& right) {
  for (int i = 0; i < 5; ++i) {
    try {
      try {
        throw number;
      } catch (...) {
        static_cast<void>(q.try_push(1));  // preemption during exception handling
        static_cast<void>(q.try_pop());
        throw;
      }
    } catch (int caught) {
      if (caught == number) ++right;
    }
    co_await leat::this_task::yield();
  }
}

TEST_CASE("world: exceptions of threads that are pre-empted while handling them do not mix") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    int right = 0;
    leat::sim::run(seed,
                   [&right](world& here) -> task<> {
                     leat::fifo_queue<int> q(8, "q");
                     task_group group;
                     for (int i = 0; i < 3; ++i) {
                       group.spawn_on(here.thread(static_cast<std::size_t>(i)),
                                      rethrow_with_locks(q, i, right));
                     }
                     co_await group.join();
                     q.close();
                   },
                   {.threads = 3, .preemption = 0.5});
    REQUIRE(right == 15);
  }
}

TEST_CASE(
    "world: a failure while a thread is pre-empted ends the run, and the world can be used again") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {.threads = 3, .preemption = 0.5});
    w.always("is false later", [&w] { return w.steps() < 10; });
    const auto busy = [](leat::fifo_queue<int>& q) -> task<> {
      while (!leat::this_task::stop_requested()) {
        static_cast<void>(q.try_push(1));
        static_cast<void>(q.try_pop());
        co_await leat::this_task::yield();
      }
    };
    CHECK_THROWS_AS(w.run([&](world& here) -> task<> {
      leat::fifo_queue<int> q(8, "q");
      co_await leat::with_task_group([&](task_group& group) -> task<> {
        for (std::size_t i = 0; i < 3; ++i) group.spawn_on(here.thread(i), busy(q));
        co_return;
      });
    }),
                    leat::sim::invariant_violation);
    w.run([](world&) -> task<> { co_await leat::sleep_for(1s); });
  }
}

TEST_CASE("world: reports a value that falls") {
  world w(1);
  std::uint64_t reached = 5;
  w.never_falls("reached", [&] { return reached; });
  w.run([&](world&) -> task<> {
    reached = 7;
    co_await leat::this_task::yield();
    co_await leat::this_task::yield();
  });
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    co_await leat::this_task::yield();
    reached = 6;
    co_await leat::this_task::yield();
  }),
                    Catch::Contains("reached never decreases"));
}

TEST_CASE("world: reports a checkpoint above the acknowledged value") {
  world w(1);
  std::uint64_t saved = 0;
  std::uint64_t done = 0;
  w.watermark("checkpoint", [&] { return saved; }, [&] { return done; });
  w.run([&](world&) -> task<> {
    done = 3;
    saved = 3;
    co_await leat::this_task::yield();
  });
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    saved = 4;
    co_await leat::this_task::yield();
  }),
                    Catch::Contains("checkpoint does not exceed the acknowledged value"));
}

TEST_CASE("world: setting the wall clock moves no timer") {
  int forward = 0;
  int back = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed, {.wall_jump = 0.5});
    w.run([&](world& here) -> task<> {
      for (int i = 0; i < 20; ++i) {
        const auto begin = here.now();
        const auto wall = here.wall_clock();
        co_await leat::sleep_for(1s);
        CHECK(here.now() - begin == 1s);
        const auto off = here.wall_clock() - wall - 1s;
        CHECK(std::chrono::abs(off) <= 1h);
        forward += off > 0s;
        back += off < 0s;
      }
    });
  }
  CHECK(forward > 50);
  CHECK(back > 50);
}

TEST_CASE("world: the wall clock can jump at each advance of time") {
  const auto thrice = [](world&) -> task<> {
    for (int i = 0; i < 3; ++i) co_await leat::sleep_for(1s);
  };
  bool reached = true;
  std::uint64_t n = 1;
  for (; reached; ++n) {
    world w(4, {.wall_jump_plan = n});
    w.trace();
    w.run(thrice);
    reached = w.time_advances() >= n;
    const auto& lines = w.schedule();
    const auto set = std::ranges::count_if(
        lines, [](const std::string& line) { return contains(line, "wall clock: set by"); });
    CHECK(set == (reached ? 1 : 0));
  }
  CHECK(n == 5);
}

TEST_CASE("world: random numbers of the program are independent of its decisions") {
  int alike = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    world w(seed);
    alike += w.random().uniform_below(2) == w.decisions().choose(2, "anything");
  }
  CHECK(alike > 400);
  CHECK(alike < 600);
}

TEST_CASE("world: scoped() checks invariants until the end of its scope") {
  world w(1);
  bool alive = false;
  int asked = 0;
  const auto body = [&](bool fails) -> task<> {
    alive = true;
    const std::shared_ptr<int> end(&asked, [&](int*) { alive = false; });
    const auto invariants = w.scoped([&] {
      w.always("asked while it is there", [&] { return ++asked > 0 && alive; });
      w.when_quiet("the same", [&] { return alive; });
    });
    co_await leat::sleep_for(1s);
    if (fails) throw std::runtime_error("the body's own");
  };
  w.run([&](world&) { return body(false); });
  CHECK(asked == 2);  // after the start of the body, and after its timer
  CHECK_THROWS_WITH(w.run([&](world&) { return body(true); }), "the body's own");
  CHECK(asked == 4);
  // An invariant that was added before the run remains.
  w.always("none", [] { return false; });
  CHECK_THROWS_AS(w.run([&](world&) { return body(false); }), leat::sim::invariant_violation);
}

TEST_CASE("world: reports error and seed if a failed run does not finish") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run(17,
                   [](world&) -> task<> {
                     for (;;) co_await leat::this_task::yield();
                   },
                   {.max_steps = 1000});
  });
  CHECK_THAT(said, Catch::Contains("seed 17 failed: run did not finish after 1001 steps") &&
                       Catch::Contains("a stop request did not end it"));
}

TEST_CASE("world: reports a coroutine frame that survives the run") {
  std::vector<task<>> kept;
  const auto keep_one = [&kept](world&) -> task<> {
    kept.push_back([]() -> task<> { co_return; }());
    co_return;
  };
  world w(1);
  w.run(keep_one);  // without an observer
  w.check_frames();
  w.run([](world&) -> task<> { co_await leat::sleep_for(1s); });
  CHECK_THROWS_WITH(w.run(keep_one), Catch::Contains("1 coroutine frames still exist"));
}

// Has the members that add_invariants() requires of a coordinator, and discards its error.
struct forgetful_coordinator {
  bool stopped = false;
  int raised = 0;

  [[nodiscard]] std::string name() const { return "forgetful"; }
  [[nodiscard]] bool should_stop() const noexcept { return stopped; }
  void raise_requested_exception() const {
    if (raised > 0) throw leat::failure(errc::aborted, std::to_string(raised));
  }
};

TEST_CASE("world: reports a coordinator that changes its first error") {
  forgetful_coordinator wrong;
  world w(1);
  w.add_invariants(wrong);
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    wrong.stopped = true;
    wrong.raised = 1;
    co_await leat::sleep_for(1s);
    wrong.raised = 2;
    co_await leat::sleep_for(1s);
  }),
                    Catch::Contains("coordinator 'forgetful' keeps its first error"));
  w.clear_invariants();
  w.run([](world& here) -> task<> {
    leat::coordinator coord("real");
    here.add_invariants(coord);
    coord.request_stop(std::make_exception_ptr(leat::failure(errc::aborted, "first")));
    co_await leat::sleep_for(1s);
    coord.request_stop(std::make_exception_ptr(leat::failure(errc::aborted, "second")));
    co_await leat::sleep_for(1s);
    here.clear_invariants();
    CHECK_THROWS_WITH(coord.raise_requested_exception(), "first: aborted");
    CHECK(co_await message_of<leat::failure>(coord.join()) == "first: aborted");
  });
}

}  // namespace world_test
