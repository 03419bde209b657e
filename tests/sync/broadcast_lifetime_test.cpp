// Sends of a broadcast in all forms, the lifetime of its receivers, and their misuse.

#include <stop_token>
#include <thread>

#include "leat/sim/world/world.hpp"
#include "leat/sync.hpp"
#include "support/asio_test.hpp"
#include "support/effort.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/loops.hpp"
#include "sync/throwing_copy.hpp"

namespace broadcast_lifetime_test {

using leat::lag_policy;
using channel = leat::broadcast<int>;

task<> receive_one(channel::receiver& receiver) { co_await receiver.next(); }

/// A broadcast whose sends have to wait.
struct full_channel {
  channel c{1, lag_policy::wait, "room"};
  channel::receiver receiver = c.subscribe("ann");

  full_channel() { CHECK(c.try_send(1)); }
  [[nodiscard]] int receive() {
    const auto item = receiver.try_next();
    return item ? item->value : 0;
  }
};

TEST_CASE("broadcast: a blocked send waits for the slowest receiver") {
  full_channel full;
  CHECK(outcome_of([&] { leat::block_on(full.c.send(2), 1ms); }).code == errc::deadline_exceeded);
  std::stop_source stop;
  stop.request_stop();
  CHECK(outcome_of([&] { leat::block_on(full.c.send(3), stop.get_token()); }).code ==
        errc::cancelled);
  std::thread reader([&] {
    std::this_thread::sleep_for(2ms);
    CHECK(full.receive() == 1);
  });
  CHECK(leat::block_on(full.c.send(4)));
  reader.join();
  CHECK(full.receive() == 4);
  CHECK(full.c.try_send(5));
  std::thread closer([&] {
    std::this_thread::sleep_for(2ms);
    full.c.close();
  });
  CHECK_FALSE(leat::block_on(full.c.send(6)));
  closer.join();
  CHECK(full.receive() == 5);
}

TEST_CASE("broadcast: async_send waits, and a destroyed context withdraws it") {
  full_channel full;
  asio::io_context io;
  bool sent = false;
  full.c.async_send(2, asio::bind_executor(io, [&](std::error_code ec, bool in) {
                      CHECK_FALSE(ec);
                      sent = in;
                    }));
  {
    asio::io_context ends;
    full.c.async_send(3, asio::bind_executor(ends, [](std::error_code, bool) { CHECK(false); }));
  }
  io.poll();
  CHECK_FALSE(sent);
  CHECK(full.receive() == 1);
  CHECK_FALSE(sent);
  io.restart();
  io.run();
  CHECK(sent);
  CHECK(full.receive() == 2);
  CHECK(full.receive() == 0);
}

leat_test::foreign_coroutine send_in_foreign(channel& c, bool& sent) { sent = co_await c.send(2); }
TEST_CASE("broadcast: a coroutine of another library sends") {
  full_channel full;
  bool sent = false;
  leat_test::asio_loop loop;
  leat_test::foreign_coroutine sending;
  static_cast<void>(loop.get_scheduler());
  asio::post(loop.context(), [&] { sending = send_in_foreign(full.c, sent); });
  loop.run_ready();
  CHECK(full.receive() == 1);
  CHECK_FALSE(sent);
  loop.run_ready();
  CHECK(sent);
  CHECK(full.receive() == 2);
  sending.handle.destroy();
}

TEST_CASE("broadcast: a copy that throws completes a token with its code") {
  using leat_test::throwing_copy;
  leat::broadcast<throwing_copy> c(2);
  auto first = c.subscribe();
  auto second = c.subscribe();
  CHECK(c.try_send(throwing_copy(1)));
  throwing_copy::failures = 1;
  asio::io_context io;
  std::error_code code;
  first.async_next(asio::bind_executor(io, [&](std::error_code ec, const auto& item) {
    code = ec;
    CHECK_FALSE(item);
  }));
  io.run();
  CHECK(code);
  CHECK(throwing_copy::failures == 0);
  CHECK(first.try_next()->value.number == 1);
  CHECK(second.try_next()->value.number == 1);
}

TEST_CASE("broadcast: receivers join and leave on other threads while values are sent") {
  for (const auto policy : {lag_policy::overwrite, lag_policy::wait}) {
    channel c(4, policy);
    const auto read = [&c] {
      int in_order = 0;
      for (int i = 0; i < 50; ++i) {
        auto receiver = c.subscribe();
        int last = -1;
        for (int n = 0; n < 20; ++n) {
          const auto item = leat::block_on(receiver.next());
          if (!item) return in_order;
          in_order += last < 0 || item->value == last + 1 + static_cast<int>(item->missed) ? 1 : 0;
          last = item->value;
        }
      }
      return in_order;
    };
    int first = 0;
    int second = 0;
    std::thread one([&] { first = read(); });
    std::thread two([&] { second = read(); });
    std::thread sender([&] {
      for (int i = 0; leat::block_on(c.send(i)); ++i) std::this_thread::yield();
    });
    one.join();
    two.join();
    c.close();
    sender.join();
    CHECK(first == 1000);
    CHECK(second == 1000);
    CHECK(c.receiver_count() == 0);
  }
}

task<> send_numbers(channel& c, int count) {
  for (int i = 0; i < count; ++i) co_await c.send(i);
}
task<> sum_up(channel::receiver& receiver, int& sum) {
  while (auto item = co_await receiver.next()) sum += item->value;
}
TEST_CASE("broadcast: simulated threads that are pre-empted at its locks lose no wake-up") {
  for (std::uint64_t seed = 1; seed <= leat_test::random_case_count(300); ++seed) {
    INFO("seed " << seed);
    leat::sim::world w(seed, {.threads = 3, .preemption = 0.5});
    w.run([](leat::sim::world& in) -> task<> {
      channel c(1, lag_policy::wait);
      auto first = c.subscribe();
      auto second = c.subscribe();
      int sums[2] = {0, 0};
      task_group receivers;
      task_group senders;
      receivers.spawn_on(in.thread(0), sum_up(first, sums[0]));
      receivers.spawn_on(in.thread(1), sum_up(second, sums[1]));
      senders.spawn_on(in.thread(2), send_numbers(c, 6));
      senders.spawn_on(in.thread(1), send_numbers(c, 6));
      co_await senders.join();
      c.close();
      co_await receivers.join();
      CHECK(sums[0] == 30);
      CHECK(sums[1] == 30);
    });
  }
}

TEST_CASE("broadcast: a capacity of 0 is an error") {
  const auto named = outcome_of([] { channel c(0, "room"); });
  CHECK(named.code == errc::invalid_argument);
  CHECK(named.text ==
        "broadcast 'room': a capacity of 0 stores no value: use at least 1: invalid argument");
  CHECK(outcome_of([] { channel c(0); }).text ==
        "broadcast: a capacity of 0 stores no value: use at least 1: invalid argument");
  const channel c(3, "room");
  CHECK(c.capacity() == 3);
  CHECK(c.name() == "room");
}

// Aborts with `misuse` while a task waits for the next value.
template <class Misuse>
std::string abort_of(Misuse misuse) {
  return leat_test::abort_message([misuse] {
    leat_test::embedded_loop loop;
    task_group group;
    auto c = std::make_unique<channel>(2, "room");
    std::optional<channel::receiver> receiver(c->subscribe("ann"));
    group.spawn_on(loop.get_scheduler(), receive_one(*receiver), "reader");
    loop.run_ready();
    misuse(c, receiver);
  });
}
TEST_CASE("broadcast: misuse ends the process with a message") {
  CHECK(contains(abort_of([](auto&, auto& receiver) { receiver.reset(); }),
                 "receiver destroyed while a task receives from it: join the task "
                 "first"));
  CHECK(contains(abort_of([](auto&, auto& receiver) { auto moved = std::move(*receiver); }),
                 "receiver moved while a task receives from it: join the task "
                 "first"));
  CHECK(contains(abort_of([](auto&, auto& receiver) { static_cast<void>(receiver->try_next()); }),
                 "receiver used by two tasks at the same time: subscribe in each "
                 "task"));
  CHECK(contains(abort_of([](auto& c, auto&) { c.reset(); }),
                 "destroyed before its receivers: destroy the receivers first"));
  CHECK(contains(leat_test::abort_message([] {
                   channel c(1);
                   auto first = c.subscribe();
                   auto moved = std::move(first);
                   static_cast<void>(first.try_next());
                 }),
                 "receiver of a broadcast used after it was moved from"));
}

TEST_CASE("broadcast: after an operation its receiver can be used, moved and destroyed") {
  channel c(2);
  std::optional<channel::receiver> receiver(c.subscribe());
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), receive_one(*receiver));
  loop.run_ready();
  group.request_stop();
  loop.run_ready();
  leat::block_on(group.join());
  CHECK_FALSE(receiver->try_next());
  auto moved = std::move(*receiver);
  receiver.reset();
  {
    auto unused = moved.next();  // was never awaited
  }
  CHECK(c.try_send(1));
  CHECK(moved.try_next()->value == 1);
}

}  // namespace broadcast_lifetime_test
