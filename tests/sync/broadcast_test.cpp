#include "leat/sync/broadcast.hpp"

#include <algorithm>
#include <deque>
#include <random>

#include "support/dump.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/tracked.hpp"
#include "sync/throwing_copy.hpp"

namespace broadcast_test {

using leat::lag_policy;
using leat_test::tracked;
using channel = leat::broadcast<int>;

struct received {
  std::vector<int> values;
  std::vector<std::uint64_t> missed;
  bool ended = false;
};

task<> read_all(channel::receiver& receiver, received& out) {
  while (auto item = co_await receiver.next()) {
    out.values.push_back(item->value);
    out.missed.push_back(item->missed);
  }
  out.ended = true;
}
task<> read_one(channel::receiver& receiver, received& out) {
  auto item = co_await receiver.next();
  out.ended = !item;
  if (item) out.values.push_back(item->value);
}
task<> send_one(channel& c, int value, std::string& log) {
  const bool sent = co_await c.send(value);
  log += sent ? static_cast<char>('0' + value) : '-';
}
auto settle() { return leat::sleep_for(1ms); }

LEAT_TEST("broadcast: each receiver gets all values that are sent after its creation") {
  channel c(8);
  received of_first;
  received of_second;
  auto first = c.subscribe();
  CHECK(co_await c.send(1));
  CHECK(c.try_send(2));
  auto second = c.subscribe();
  CHECK(c.receiver_count() == 2);
  task_group group;
  group.spawn(read_all(first, of_first));
  group.spawn(read_all(second, of_second));
  co_await settle();
  CHECK(co_await c.send(3));
  c.close();
  co_await group.join();
  CHECK(of_first.values == std::vector{1, 2, 3});
  CHECK(of_second.values == std::vector{3});
  CHECK(of_first.missed == std::vector<std::uint64_t>(3, 0));
  CHECK(of_first.ended);
}

LEAT_TEST("broadcast: without receivers a value is discarded") {
  leat_test::counts n;
  leat::broadcast<tracked> overwriting(1);
  leat::broadcast<tracked> waiting(1, lag_policy::wait);
  for (int i = 0; i < 3; ++i) {
    CHECK(co_await overwriting.send(tracked(n, i)));
    CHECK(co_await waiting.send(tracked(n, i)));
    CHECK(n.live == 0);
  }
  auto late = overwriting.subscribe();
  CHECK_FALSE(late.try_next());
}

LEAT_TEST("broadcast: a slow receiver gets the oldest stored value and the exact number missed") {
  channel c(3);
  auto slow = c.subscribe();
  for (int i = 0; i < 10; ++i) CHECK(co_await c.send(i));
  auto item = co_await slow.next();
  REQUIRE(item);
  CHECK(item->value == 7);
  CHECK(item->missed == 7);
  CHECK(co_await c.send(10));
  CHECK(co_await c.send(11));
  item = slow.try_next();  // 8 was overwritten
  REQUIRE(item);
  CHECK(item->value == 9);
  CHECK(item->missed == 1);
  item = slow.try_next();
  REQUIRE(item);
  CHECK(item->value == 10);
  CHECK(item->missed == 0);
}

LEAT_TEST("broadcast: values that are overwritten after a receiver was woken count as missed") {
  channel c(2);
  auto receiver = c.subscribe();
  received out;
  task_group group;
  group.spawn(read_all(receiver, out));
  co_await settle();
  for (int i = 0; i < 5; ++i) CHECK(c.try_send(i));  // the first one wakes the receiver
  c.close();
  co_await group.join();
  CHECK(out.values == std::vector{3, 4});
  CHECK(out.missed == std::vector<std::uint64_t>{3, 0});
}

LEAT_TEST("broadcast: with lag_policy::wait, sends wait for the slowest receiver in their order") {
  channel c(2, lag_policy::wait);
  auto fast = c.subscribe("fast");
  auto slow = c.subscribe("slow");
  std::string log;
  task_group group;
  for (int i = 1; i <= 5; ++i) {
    group.spawn(send_one(c, i, log));
    co_await settle();
  }
  CHECK(log == "12");
  CHECK_FALSE(c.try_send(9));
  CHECK(fast.try_next()->value == 1);
  CHECK(fast.try_next()->value == 2);
  co_await settle();
  CHECK(log == "12");
  for (int i = 1; i <= 5; ++i) {
    CHECK(slow.try_next()->value == i);
    co_await settle();
    CHECK(log.size() == static_cast<std::size_t>(std::min(i + 2, i < 3 ? 4 : 5)));
    if (i == 2) {
      CHECK(fast.try_next()->value == 3);
      CHECK(fast.try_next()->value == 4);
    }
    if (i == 4) break;
  }
  co_await group.join();
  CHECK(log == "12345");
  CHECK(slow.try_next()->value == 5);
  CHECK(fast.try_next()->value == 5);
}

LEAT_TEST("broadcast: a waiting send that is served wakes a receiver that waited before it") {
  channel c(1, lag_policy::wait);
  auto fast = c.subscribe();
  auto slow = c.subscribe();
  received out;
  std::string log;
  task_group group;
  CHECK(c.try_send(1));
  CHECK(fast.try_next()->value == 1);
  group.spawn(read_one(fast, out));
  co_await settle();
  group.spawn(send_one(c, 2, log));
  co_await settle();
  CHECK(log.empty());
  CHECK(slow.try_next()->value == 1);  // serves the send, which serves the receiver
  co_await settle();
  CHECK(log == "2");
  CHECK(out.values == std::vector{2});
  co_await stop_and_join(group);
}

LEAT_TEST("broadcast: sends proceed when the slowest receiver leaves") {
  channel c(1, lag_policy::wait);
  auto stays = c.subscribe();
  std::optional<channel::receiver> slow(c.subscribe());
  std::string log;
  task_group group;
  CHECK(c.try_send(1));
  CHECK(stays.try_next()->value == 1);
  group.spawn(send_one(c, 2, log));
  co_await settle();
  CHECK(log.empty());
  slow.reset();
  co_await group.join();
  CHECK(log == "2");
  CHECK(stays.try_next()->value == 2);
  CHECK(c.receiver_count() == 1);
}

LEAT_TEST("broadcast: after a close, receivers get the remaining values, and sends return false") {
  channel c(2, lag_policy::wait);
  auto reading = c.subscribe();
  auto waiting = c.subscribe();
  received out;
  std::string log;
  task_group group;
  CHECK(c.try_send(1));
  CHECK(c.try_send(2));
  CHECK(waiting.try_next()->value == 1);
  CHECK(waiting.try_next()->value == 2);
  group.spawn(read_all(waiting, out));
  group.spawn(send_one(c, 3, log));
  co_await settle();
  CHECK_FALSE(c.is_closed());
  CHECK(c.close());
  CHECK(c.is_closed());
  CHECK_FALSE(c.close());
  co_await group.join();
  CHECK(log == "-");
  CHECK(out.values.empty());
  CHECK(out.ended);
  CHECK_FALSE(co_await c.send(4));
  CHECK_FALSE(c.try_send(4));
  CHECK(reading.try_next()->value == 1);
  const auto last = co_await reading.next();
  CHECK(last->value == 2);
  CHECK_FALSE(co_await reading.next());
  auto late = c.subscribe();
  CHECK_FALSE(co_await late.next());
}

LEAT_TEST("broadcast: a receiver keeps its position and its name when it is moved") {
  channel c(4);
  auto first = c.subscribe("ann");
  auto other = c.subscribe("bob");
  CHECK(co_await c.send(1));
  CHECK(co_await c.send(2));
  CHECK(first.try_next()->value == 1);
  channel::receiver moved(std::move(first));
  CHECK(c.receiver_count() == 2);
  CHECK(moved.try_next()->value == 2);
  CHECK_FALSE(moved.try_next());
  moved = std::move(other);  // the receiver of ann leaves
  CHECK(c.receiver_count() == 1);
  CHECK(moved.try_next()->value == 1);
  channel::receiver& self = moved;
  moved = std::move(self);
  CHECK(c.receiver_count() == 1);
  CHECK(moved.try_next()->value == 2);
}

LEAT_TEST("broadcast: a value is destroyed when all receivers have read it or left") {
  leat_test::counts n;
  {
    leat::broadcast<tracked> c(4);
    auto a = c.subscribe();
    std::optional<leat::broadcast<tracked>::receiver> b(c.subscribe());
    for (int i = 0; i < 3; ++i) CHECK(c.try_send(tracked(n, i)));
    CHECK(n.live == 3);
    CHECK(n.copies == 0);
    CHECK(a.try_next()->value == 0);
    CHECK(n.copies == 1);
    CHECK(n.live == 3);
    CHECK(b->try_next()->value == 0);  // the last receiver moves it
    CHECK(n.copies == 1);
    CHECK(n.live == 2);
    CHECK(n.objects == 2);
    CHECK(a.try_next()->value == 1);
    b.reset();  // value 1 has been read by the others, and value 2 has not
    CHECK(n.live == 1);
    CHECK(n.objects == 1);
    for (int i = 3; i < 9; ++i) CHECK(c.try_send(tracked(n, i)));
    CHECK(n.live == 4);
    CHECK(a.try_next()->value == 5);
  }
  CHECK(n.objects == 0);
  co_return;
}

LEAT_TEST("broadcast: a copy that throws loses nothing") {
  leat_test::throwing_copy::failures = 0;
  leat::broadcast<leat_test::throwing_copy> c(4);
  auto a = c.subscribe();
  auto b = c.subscribe();
  CHECK(c.try_send(leat_test::throwing_copy(1)));
  leat_test::throwing_copy::failures = 2;
  CHECK_THROWS_AS(a.try_next(), leat_test::copy_failed);
  CHECK(co_await throws<leat_test::copy_failed>(a.next()));
  const auto after = co_await a.next();
  CHECK(after->value.number == 1);
  CHECK_FALSE(a.try_next());
  leat_test::throwing_copy::failures = 1;
  CHECK(b.try_next()->value.number == 1);  // moved
  leat_test::throwing_copy::failures = 0;
}

LEAT_TEST("broadcast: a cancelled send sends nothing, and the next one is served") {
  channel c(1, lag_policy::wait);
  auto receiver = c.subscribe("late");
  CHECK(c.try_send(1));
  std::string log;
  task_group stopped;
  task_group group;
  leat_test::outcome o;
  stopped.spawn([](channel& to, leat_test::outcome& out) -> task<> {
    out = co_await outcome_of([](channel& d) -> task<> { co_await d.send(2); }(to));
  }(c, o));
  co_await settle();
  group.spawn(send_one(c, 3, log));
  co_await settle();
  stopped.request_stop();
  co_await stopped.join();
  CHECK(o.code == errc::cancelled);
  CHECK(o.text ==
        "send to broadcast (1 of 1, 1 receiver, the slowest, 'late', is 1 behind): cancelled");
  CHECK(receiver.try_next()->value == 1);
  co_await group.join();
  CHECK(receiver.try_next()->value == 3);
  CHECK_FALSE(receiver.try_next());
}

LEAT_TEST("broadcast: limits end a wait without an effect") {
  channel c(1, lag_policy::wait);
  auto receiver = c.subscribe();
  auto [late, none] = co_await leat::as_tuple(leat::with_timeout(receiver.next(), 5ms));
  CHECK(late == errc::deadline_exceeded);
  CHECK_FALSE(none);
  CHECK(co_await leat::with_timeout(c.send(1), 0ms));
  auto [full, sent] = co_await leat::as_tuple(leat::with_timeout(c.send(2), 5ms));
  CHECK(full == errc::deadline_exceeded);
  CHECK_FALSE(sent);
  const auto item = co_await leat::with_timeout(receiver.next(), 5ms);
  CHECK(item->value == 1);
  CHECK_FALSE(receiver.try_next());
}

LEAT_TEST("broadcast: in a select, only the winner sends or receives") {
  channel c(1, lag_policy::wait);
  channel full(1, lag_policy::wait);
  auto receiver = c.subscribe();
  auto of_full = full.subscribe();
  CHECK(full.try_send(1));
  auto done = co_await leat::select(receiver.next(), full.send(2), leat::sleep_for(5ms));
  CHECK(done.index() == 2);
  done = co_await leat::select(receiver.next(), c.send(3), leat::sleep_for(5ms));
  CHECK(done.index() == 1);
  done = co_await leat::select(receiver.next(), full.send(2), leat::sleep_for(5ms));
  REQUIRE(done.index() == 0);
  CHECK(std::get<0>(done)->value == 3);
  CHECK(of_full.try_next()->value == 1);
  CHECK_FALSE(of_full.try_next());
}

LEAT_TEST("broadcast: a dump names the slowest receiver of a waiting send") {
  channel c(2, lag_policy::wait, "room");
  auto fast = c.subscribe("ann");
  auto slow = c.subscribe("bob");
  CHECK(c.try_send(1));
  CHECK(c.try_send(2));
  CHECK(fast.try_next());
  std::string log;
  task_group group("senders");
  group.spawn(send_one(c, 3, log), "carol");
  co_await settle();
  const std::string text = leat_test::dump();
  INFO(text);
  CHECK(contains(text,
                 "carol: send to broadcast 'room' (2 of 2, 2 receivers, the slowest, 'bob', "
                 "is 2 behind)"));
  CHECK(slow.try_next());
  co_await group.join();
}

// A model in which each receiver has a list of its unread values.
struct model_receiver {
  channel::receiver real;
  std::deque<int> unread = {};
  std::uint64_t missed = 0;
};
void compare_with_model(std::uint32_t seed, lag_policy policy) {
  std::mt19937 random(seed);
  const std::size_t capacity = 1 + random() % 4;
  channel c(capacity, policy);
  std::vector<model_receiver> receivers;
  for (int number = 0; number < 300; ++number) {
    const auto action = random() % 10;
    if (action == 0 && receivers.size() < 4) {
      receivers.push_back({c.subscribe()});
    } else if (action == 1 && !receivers.empty()) {
      receivers.erase(receivers.begin() + static_cast<std::ptrdiff_t>(random() % receivers.size()));
    } else if (action < 6) {
      bool full = false;
      for (const auto& r : receivers) full |= r.unread.size() == capacity;
      const bool sent = policy == lag_policy::overwrite || !full;
      REQUIRE(c.try_send(number) == sent);
      for (auto& r : receivers) {
        if (!sent) continue;
        r.unread.push_back(number);
        if (r.unread.size() <= capacity) continue;
        r.unread.pop_front();
        ++r.missed;
      }
    } else if (!receivers.empty()) {
      auto& r = receivers[random() % receivers.size()];
      const auto item = r.real.try_next();
      REQUIRE(item.has_value() == !r.unread.empty());
      if (!item) continue;
      REQUIRE(item->value == r.unread.front());
      REQUIRE(item->missed == std::exchange(r.missed, 0));
      r.unread.pop_front();
    }
    REQUIRE(c.receiver_count() == receivers.size());
    REQUIRE(c.is_consistent());
  }
}
TEST_CASE("broadcast: behaves like a list of unread values for each receiver") {
  for (std::uint32_t seed = 0; seed < leat_test::scaled_count(2000); ++seed) {
    INFO("seed " << seed);
    compare_with_model(seed, lag_policy::overwrite);
    compare_with_model(seed, lag_policy::wait);
  }
}

}  // namespace broadcast_test
