// Waits in known places, writes a dump to the file named by its argument, and aborts.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include <leat/leat.hpp>

namespace {

using namespace std::chrono_literals;
using leat::fifo_queue;
using leat::task;
using leat::task_group;

std::atomic<int> pushed = 0;

task<> greedy(fifo_queue<int>& into, fifo_queue<int>& from) {
  for (bool open = true; open;) {
    co_await into.push(1);
    ++pushed;
    open = co_await into.push(2);
    ++pushed;
    const auto answer = co_await from.pop();
    open = open && answer.has_value();
  }
}

task<> echo(fifo_queue<int>& from, fifo_queue<int>& into) {
  while (const auto item = co_await from.pop()) {
    const bool pushed = co_await into.push(*item);
    if (!pushed) co_return;
  }
}

task<> pop_some(fifo_queue<std::string>& from) { co_await from.pop_many(3); }

task<> chain(fifo_queue<std::string>& from) { co_await pop_some(from); }

task<> choose(fifo_queue<std::string>& from) {
  const std::stop_source source;
  co_await leat::select(from.pop(), leat::sleep_for(1h), leat::wait_for_stop(source.get_token()),
                        leat::sleep_for(2h));
}

task<> choose_soon(fifo_queue<std::string>& from) {
  co_await leat::select(from.pop(), leat::sleep_for(1h));
}

task<> limited(fifo_queue<std::string>& from) { co_await leat::with_timeout(from.pop(), 1h); }

task<> limited_task(fifo_queue<std::string>& from, std::stop_token token) {
  co_await leat::with_stop(limited(from), token);
}

task<> choose_limited(fifo_queue<std::string>& from, std::stop_token token) {
  co_await leat::select(leat::with_timeout(leat::with_stop(from.pop(), token), 1h),
                        leat::with_timeout(limited(from), 2h), leat::sleep_for(3h));
}

task<> nest(fifo_queue<std::string>& from) {
  task_group inner("inner \xE2\x82\xAC");
  inner.spawn(chain(from));
  co_await inner.join();
}

task<> shield(fifo_queue<std::string>& from) {
  task_group inner(leat::shielded, "shielded");
  inner.spawn(chain(from), "leaf");
  co_await inner.join();
}

task<> wait_for_stop_of(leat::coordinator& c) { co_await c.wait_for_stop(); }

struct by_value {
  std::size_t operator()(int item) const { return static_cast<std::size_t>(item); }
};

bool everyone_waits(const std::string& dump) {
  return dump.find("running") == dump.npos && dump.find("2 of 3 done") != dump.npos &&
         dump.find("wait for each other") != dump.npos;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  leat::runtime runtime({.threads = 2});
  fifo_queue<int> q1(2, "q1"), q2(2, "q2");
  fifo_queue<std::string> words(leat::unbounded, "words"), silent(1, "a name that is not short");
  leat::queue_runner never_started(words);
  leat::block_on(words.push("one"));
  leat::block_on(words.push("two"));

  leat::coordinator coordinator("training");
  coordinator.spawn_on(runtime.get_scheduler(0), greedy(q1, q2), "greedy");
  coordinator.spawn_on(runtime.get_scheduler(1), echo(q1, q2), "echo");
  coordinator.start_thread("reader", [&](const std::stop_token&) { leat::block_on(silent.pop()); });
  coordinator.register_thread(std::jthread([&] { leat::block_on(silent.pop()); }), "registered");
  coordinator.spawn_on(runtime.get_scheduler(1), shield(silent), "shield");
  leat::coordinator other("other");
  coordinator.spawn_on(runtime.get_scheduler(0), wait_for_stop_of(other), "for a stop");
  coordinator.start_thread("joiner",
                           [&](const std::stop_token&) { leat::block_on(other.wait_for_stop()); });
  task_group group;
  group.spawn_on(runtime.get_scheduler(1), nest(words), "nest");
  group.spawn_on(runtime.get_scheduler(0), choose(silent), "choose");
  const std::stop_source stop;
  group.spawn_on(runtime.get_scheduler(0), choose_soon(silent), "choose soon");
  group.spawn_on(runtime.get_scheduler(1), limited(silent), "limited");
  group.spawn_on(runtime.get_scheduler(0), choose_limited(silent, stop.get_token()),
                 "choose limited");
  group.spawn_on(runtime.get_scheduler(1), limited_task(silent, stop.get_token()), "limited task");
  group.spawn_on(
      runtime.get_scheduler(0), []() -> task<> { co_await leat::sleep_for(1h); }(), "sleeper");

  fifo_queue<int> idle(4, "idle"), answers(4, "answers"), ending(1, "ending");
  leat::block_on(idle.push(1));
  idle.close();
  leat::block_on(idle.push(2));  // refused
  asio::io_context context;
  answers.async_pop(asio::bind_executor(context, [](std::error_code, std::optional<int>) {}));
  leat::block_on(ending.push(1));
  ending.async_push(2, asio::bind_executor(context, [](std::error_code, bool) {}));
  ending.close();
  leat::memory_budget ram(100, "ram");
  fifo_queue<int, by_value> heavy(
      {.capacity = 3, .max_weight = 50, .budget = &ram, .name = "heavy"});
  leat::block_on(heavy.push(7));
  const std::jthread outsider([&] { leat::block_on(answers.pop()); });
  while (answers.statistics().waiting_pops < 2) std::this_thread::yield();

  // A dump reads one task after the other, so a waiting task may have continued before the next is
  // read. Five elements fill both queues, with one more in echo. Greedy pops four, so its tenth
  // push waits.
  while (pushed < 9) std::this_thread::yield();
  std::string dump;
  do {
    std::this_thread::yield();
    std::ostringstream out;
    leat::dump(out);
    dump = out.str();
  } while (!everyone_waits(dump));
  std::ofstream(argv[1]) << dump;
  std::abort();
}
