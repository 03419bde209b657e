// The blocking form of every operation of every queue, on real threads: with a timeout, with a stop
// token, and in a thread of a coordinator.

#include <exception>
#include <stop_token>
#include <thread>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue/partial_push_error.hpp"
#include "queue/queue_kinds.hpp"
#include "support/leat_test.hpp"

namespace queue_blocking_test {

using leat::wait_limit;
using queue_kinds::capacity;
using queue_kinds::matrix;

const auto is_over = [] { return std::chrono::steady_clock::now(); };

// One operation that has to wait for its queue, and its result.
template <class Combination>
struct operation : queue_kinds::waiting_operation<Combination> {
  using base = queue_kinds::waiting_operation<Combination>;
  using kind = typename Combination::kind;
  using verb = typename Combination::verb;
  using base::ec;
  using base::ended;
  using base::moved;
  using base::q;
  using base::with;

  template <class... Limit>
  void run(const Limit&... limit) {
    try {
      moved =
          verb::template moved<kind>(leat::block_on(verb::template start<kind>(q, with), limit...));
    } catch (const leat::partial_push_error& e) {
      ec = e.code();
      moved = e.count();
      told_count = true;
    } catch (const leat::failure& e) {
      ec = e.code();
    }
    ended = true;
  }

  void until_it_waits() const {
    while (this->waiting() == 0) std::this_thread::yield();
  }

  void is_undone(errc code, std::size_t helped) const {
    base::is_undone(code, helped);
    CHECK(told_count == base::in_parts);
  }

  bool told_count = false;
};

// ---- Stops.

TEMPLATE_LIST_TEST_CASE("blocking: every verb throws cancelled at once after a stop", "[queue]",
                        matrix) {
  std::stop_source stop;
  stop.request_stop();
  for (const bool with_time : {false, true}) {
    operation<TestType> o;
    o.make_way();
    const std::size_t before = o.q.size();
    if (with_time) {
      o.run(wait_limit(stop.get_token(), 1h));
    } else {
      o.run(stop.get_token());
    }
    CHECK(o.ended);
    CHECK(o.ec == leat::make_error_code(errc::cancelled));
    CHECK(o.moved == 0);
    CHECK(o.q.size() == before);
  }
}

TEMPLATE_LIST_TEST_CASE("blocking: a stop ends the wait of every verb", "[queue]", matrix) {
  for (const bool with_time : {false, true}) {
    operation<TestType> o;
    std::stop_source stop;
    std::jthread thread([&] {
      if (with_time) {
        o.run(wait_limit(stop.get_token(), 24h));
      } else {
        o.run(stop.get_token());
      }
    });
    o.until_it_waits();
    const bool half = operation<TestType>::verb::moves > 1;
    if (half) CHECK(o.help());
    stop.request_stop();
    thread.join();
    o.is_undone(errc::cancelled, half ? 1 : 0);
  }
}

TEMPLATE_LIST_TEST_CASE(
    "blocking: every verb completes within its limits, and a later stop has no effect", "[queue]",
    matrix) {
  using verb = typename operation<TestType>::verb;
  for (const bool at_once : {true, false}) {
    operation<TestType> o;
    if (at_once) o.make_way();
    std::stop_source stop;
    std::jthread thread([&] { o.run(wait_limit(stop.get_token(), 24h)); });
    if (!at_once) {
      o.until_it_waits();
      for (std::size_t i = 0; i < verb::moves; ++i) CHECK(o.help());
    }
    while (!o.ended) {
      if (at_once && verb::moves > capacity) static_cast<void>(o.help());
      std::this_thread::yield();
    }
    stop.request_stop();
    thread.join();
    CHECK_FALSE(o.ec);
    CHECK(o.moved == verb::moves);
  }
}

// ---- Timeouts and deadlines.

TEMPLATE_LIST_TEST_CASE("blocking: every verb throws at a deadline that has passed or passes",
                        "[queue]", matrix) {
  for (const int which : {0, 1, 2, 3}) {
    for (const bool half : {false, true}) {
      if (half && operation<TestType>::verb::moves == 1) continue;
      operation<TestType> o;
      if (half) CHECK(o.help());
      if (which == 0) o.run(is_over());
      if (which == 1) o.run(-1s);
      if (which == 2) o.run(1ms);
      if (which == 3) o.run(wait_limit(std::stop_source().get_token(), is_over() + 1ms));
      o.is_undone(errc::deadline_exceeded, half ? 1 : 0);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("blocking: every verb succeeds after its deadline if it need not wait",
                        "[queue]", matrix) {
  using verb = typename operation<TestType>::verb;
  operation<TestType> o;
  o.make_way();
  o.run(is_over());
  if (verb::moves > capacity) {  // the items that fit
    CHECK(o.ec == leat::make_error_code(errc::deadline_exceeded));
    CHECK(o.moved == capacity);
  } else {
    CHECK_FALSE(o.ec);
    CHECK(o.moved == verb::moves);
  }
}

TEST_CASE("blocking: accepts a limit without end") {
  leat::fifo_queue<int> q(1);
  std::optional<int> item;
  std::jthread thread([&] { item = leat::block_on(q.pop(), leat::no_deadline); });
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  CHECK(q.try_push(3));
  thread.join();
  CHECK(item == 3);
}

TEST_CASE("blocking: a duration beyond nanoseconds is unlimited or has passed") {
  CHECK(leat::wait_limit(std::chrono::hours::max()).deadline() == leat::no_deadline);
  CHECK(leat::wait_limit(std::chrono::seconds::max()).deadline() == leat::no_deadline);
  CHECK(leat::wait_limit(std::chrono::nanoseconds::max()).deadline() == leat::no_deadline);
  CHECK(leat::wait_limit({}, std::chrono::years(10'000)).deadline() == leat::no_deadline);
  const auto now = std::chrono::steady_clock::now();
  CHECK(leat::wait_limit(std::chrono::seconds::min()).deadline() < now);
  CHECK(leat::wait_limit(std::chrono::hours(1)).deadline() >= now + std::chrono::hours(1));
}

TEST_CASE("blocking: a limit does not change the results at the end of a queue") {
  leat::fifo_queue<int> q(1);
  CHECK(leat::block_on(q.push(1), 24h));
  q.close();
  CHECK_FALSE(leat::block_on(q.push(2), 24h));
  CHECK(leat::block_on(q.pop(), 24h) == 1);
  CHECK_FALSE(leat::block_on(q.pop(), 24h));
  CHECK_FALSE(leat::block_on(q.pop_many(1), 24h));
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  CHECK_THROWS_WITH(leat::block_on(q.pop_up_to(1), 24h), Catch::StartsWith("damaged"));
}

// ---- Messages.

TEST_CASE("blocking: the error names its cause and the added items of push_many") {
  leat::fifo_queue<int> q(2, "q");
  std::vector<int> run = {1, 2, 3};
  CHECK(error_of([&] { leat::block_on(q.pop(), is_over()); }) ==
        "pop from queue 'q' (0 of 2): timed out without effect: " +
            leat::make_error_code(errc::deadline_exceeded).message());
  CHECK(error_of([&] { leat::block_on(q.push_many(run), is_over()); }) ==
        "push to queue 'q' (2 of 2), 2 of 3 done: timed out: " +
            leat::make_error_code(errc::deadline_exceeded).message());
  std::stop_source stop;
  stop.request_stop();
  CHECK(error_of([&] { leat::block_on(q.push(4), stop.get_token()); }) ==
        "push to queue 'q' (2 of 2): " + leat::make_error_code(errc::cancelled).message());
}

TEST_CASE("blocking: a push that times out does not move from its item") {
  leat::fifo_queue<std::string> q(1);
  CHECK(leat::block_on(q.push("first")));
  std::string item = "an item that is too long for a small string";
  CHECK_THROWS_AS(leat::block_on(q.push(std::move(item)), is_over()), leat::failure);
  CHECK(item == "an item that is too long for a small string");
  std::vector<std::string> run = {item, item};
  CHECK(leat::block_on(q.pop()) == "first");
  CHECK_THROWS_AS(leat::block_on(q.push_many(run), 1ms), leat::partial_push_error);
  CHECK(run == std::vector<std::string>{"", item});
}

// ---- Operations that wait after another one.

TEST_CASE("blocking: cancelling the first waiter serves the next one") {
  leat::fifo_queue<int> q(4);
  CHECK(leat::block_on(q.push(1)));
  std::stop_source stop;
  std::error_code ec;
  std::jthread first(
      [&] { ec = code_of([&] { leat::block_on(q.pop_many(2), stop.get_token()); }); });
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  std::optional<int> item;
  std::jthread behind([&] { item = leat::block_on(q.pop(), 24h); });
  while (q.statistics().waiting_pops < 2) std::this_thread::yield();
  stop.request_stop();
  behind.join();
  first.join();
  CHECK(ec == errc::cancelled);
  CHECK(item == 1);
}

// ---- Concurrent operations: each item has one place, whichever operation is first.

TEST_CASE("blocking: a stop or timeout at the same time as an item does not lose it") {
  for (int round = 0; round < 300; ++round) {
    leat::fifo_queue<int> q(1);
    std::optional<int> item;
    std::stop_source stop;
    const bool with_time = round % 2 == 0;
    std::error_code ec;
    std::jthread popper([&] {
      ec = code_of([&] {
        item = with_time ? leat::block_on(q.pop(), wait_limit(stop.get_token(), 50us))
                         : leat::block_on(q.pop(), stop.get_token());
      });
    });
    std::jthread stopper([&] { stop.request_stop(); });
    CHECK(leat::block_on(q.push(round)));
    popper.join();
    CHECK(item.has_value() == !ec);
    CHECK(q.size() == (item ? 0 : 1));
    CHECK(q.statistics().waiting_pops == 0);
  }
}

// ---- Threads of a coordinator.

TEMPLATE_LIST_TEST_CASE("blocking: a coordinator's stop ends every verb in its threads", "[queue]",
                        matrix) {
  for (const bool limited : {false, true}) {
    operation<TestType> o;
    leat::coordinator c;
    c.start_thread("worker", [&](const std::stop_token&) {
      if (limited) {
        o.run(24h);
      } else {
        o.run();
      }
    });
    o.until_it_waits();
    const bool half = operation<TestType>::verb::moves > 1;
    if (half) CHECK(o.help());
    c.request_stop();
    leat::block_on(c.join({.grace = 1h}));
    o.is_undone(errc::cancelled, half ? 1 : 0);
  }
}

TEMPLATE_LIST_TEST_CASE("blocking: every verb throws cancelled at once after a coordinator's stop",
                        "[queue]", matrix) {
  operation<TestType> o;
  o.make_way();
  const std::size_t before = o.q.size();
  leat::coordinator c;
  c.request_stop();
  c.start_thread("worker", [&](const std::stop_token&) { o.run(); });
  leat::block_on(c.join({.grace = 1h}));
  CHECK(o.ended);
  CHECK(o.ec == leat::make_error_code(errc::cancelled));
  CHECK(o.moved == 0);
  CHECK(o.q.size() == before);
}

TEST_CASE("coordinator: ignores `cancelled` from a thread after a stop") {
  leat::fifo_queue<int> q(1);
  leat::coordinator c;
  c.start_thread("reader", [&](const std::stop_token&) {
    while (leat::block_on(q.pop())) {
    }
  });
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  c.request_stop();
  leat::block_on(c.join({.grace = 1h}));
  CHECK(c.secondary_errors().empty());
}

TEST_CASE("coordinator: an error of one thread ends the waits of the others") {
  leat::fifo_queue<int> q(1);
  leat::coordinator c;
  c.start_thread("reader", [&](const std::stop_token&) { leat::block_on(q.pop()); });
  c.start_thread("failing", [&](const std::stop_token&) {
    while (q.statistics().waiting_pops == 0) std::this_thread::yield();
    throw std::runtime_error("from a thread");
  });
  CHECK_THROWS_WITH(leat::block_on(c.join({.grace = 1h})), "from a thread");
  CHECK(c.secondary_errors().empty());
}

TEST_CASE("coordinator: a registered thread waits with its own token") {
  leat::fifo_queue<int> q(1);
  leat::coordinator c;
  std::error_code ec;
  std::jthread thread(
      [&](const std::stop_token& stop) { ec = code_of([&] { leat::block_on(q.pop(), stop); }); });
  c.register_thread(std::move(thread), "foreign");
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  c.request_stop();
  leat::block_on(c.join({.grace = 1h}));
  CHECK(ec == errc::cancelled);
}

TEST_CASE("coordinator: its stop does not reach other threads") {
  leat::fifo_queue<int> q(1);
  leat::coordinator c;
  std::optional<int> item;
  c.start_thread("reader", [&](const std::stop_token&) {
    std::jthread own([&] { item = leat::block_on(q.pop()); });
  });
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  c.request_stop();
  CHECK(q.try_push(5));
  leat::block_on(c.join({.grace = 1h}));
  CHECK(item == 5);
}

}  // namespace queue_blocking_test
