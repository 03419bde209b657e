// One queue between real threads, used concurrently through all its forms. Every item arrives once,
// even if operations are stopped, cancelled or destroyed.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "leat/base/random.hpp"
#include "leat/queue.hpp"

namespace queue_threads_test {

using namespace std::chrono_literals;
using leat::task;

// Collects popped items from any thread.
class ledger {
 public:
  void add(int item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(item);
  }
  void add(const std::vector<int>& items) {
    const std::lock_guard lock(mutex_);
    items_.insert(items_.end(), items.begin(), items.end());
  }
  [[nodiscard]] std::vector<int> sorted() {
    const std::lock_guard lock(mutex_);
    std::sort(items_.begin(), items_.end());
    return items_;
  }

 private:
  std::mutex mutex_;
  std::vector<int> items_;
};

std::vector<int> numbers(int first, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

template <class Queue>
task<> push_each(Queue& q, int first, int count) {
  for (int i = 0; i < count; ++i) co_await q.push(first + i);
}

template <class Queue>
task<> push_in_runs(Queue& q, int first, int count) {
  for (int i = 0; i < count; i += 10) {
    std::vector<int> run = numbers(first + i, 10);
    co_await q.push_many(run);
  }
}

template <class Queue>
task<> pop_each(Queue& q, ledger& out) {
  while (const std::optional<int> item = co_await q.pop()) out.add(*item);
}

template <class Queue>
task<> pop_batches(Queue& q, ledger& out) {
  while (const auto batch = co_await q.pop_up_to(7)) out.add(*batch);
}

template <class Queue>
void all_faces(Queue& q) {
  constexpr int each = 4000;
  ledger out;
  leat::runtime rt({.threads = 3});
  leat::task_group producers;
  leat::task_group consumers;
  producers.spawn_on(rt.get_scheduler(0), push_each(q, 0, each));
  producers.spawn_on(rt.get_scheduler(1), push_in_runs(q, each, each));
  consumers.spawn_on(rt.get_scheduler(1), pop_each(q, out));
  consumers.spawn_on(rt.get_scheduler(2), pop_batches(q, out));
  std::jthread pusher([&] {
    for (int i = 0; i < each; ++i) leat::block_on(q.push(2 * each + i));
  });
  std::jthread popper([&] {
    while (const std::optional<int> item = leat::block_on(q.pop())) out.add(*item);
  });
  std::jthread trier([&] {
    for (int i = 0; i < each; ++i) {
      while (!q.try_push(3 * each + i)) std::this_thread::yield();
    }
  });
  leat::block_on(producers.join());
  pusher.join();
  trier.join();
  q.close();
  leat::block_on(consumers.join());
  popper.join();
  CHECK(out.sorted() == numbers(0, 4 * each));
}

TEST_CASE("fifo_queue: all forms of operations work on one queue with real threads", "[stress]") {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
    leat::fifo_queue<int> q(capacity);
    all_faces(q);
  }
}

TEST_CASE("random_shuffle_queue: all forms of operations work on one queue with real threads",
          "[stress]") {
  leat::random_shuffle_queue<int> q({.capacity = 32, .min_after_dequeue = 8, .seed = 3});
  all_faces(q);
}

// Pops until it is stopped and keeps the popped items.
task<> pop_until_stopped(leat::fifo_queue<int>& q, ledger& out) {
  try {
    while (const std::optional<int> item = co_await q.pop()) out.add(*item);
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::cancelled) throw;
  }
}

TEST_CASE("fifo_queue: stopping consumers while items arrive loses no item", "[stress]") {
  constexpr int count = 20'000;
  leat::fifo_queue<int> q(16);
  ledger out;
  leat::runtime rt({.threads = 2});
  leat::task_group producers;
  producers.spawn_on(rt.get_scheduler(0), push_each(q, 0, count));
  std::atomic<bool> done{false};
  std::jthread stopper([&] {
    for (int round = 0; !done; ++round) {
      leat::task_group consumers;
      for (std::size_t i = 0; i < 3; ++i) {
        consumers.spawn_on(rt.get_scheduler(i % 2), pop_until_stopped(q, out));
      }
      std::this_thread::sleep_for(100us * (round % 5));
      consumers.request_stop();
      leat::block_on(consumers.join());
    }
  });
  leat::block_on(producers.join());
  done = true;
  stopper.join();
  q.close();
  while (const std::optional<int> item = leat::block_on(q.pop())) out.add(*item);
  CHECK(out.sorted() == numbers(0, count));
}

// Pushes in bursts, so that the queue repeatedly becomes empty.
task<> push_in_bursts(leat::fifo_queue<int>& q, int count) {
  for (int i = 0; i < count; ++i) {
    if (i % 50 == 0) co_await leat::sleep_for(20us);
    co_await q.push(i);
  }
}

// An Asio program that cancels its pops at random times. A cancelled pop takes no item.
TEST_CASE("fifo_queue: cancelling async_pop while items arrive loses no item", "[stress]") {
  constexpr int count = 20'000;
  leat::fifo_queue<int> q(16);
  ledger out;
  leat::runtime rt({.threads = 1});
  leat::task_group producers;

  asio::io_context io;
  asio::cancellation_signal stop;
  leat::random_engine random(9);
  int cancelled = 0;
  int arrived = 0;
  bool ended = false;
  for (int round = 0; !ended; ++round) {
    if (round == 1) producers.spawn_on(rt.get_scheduler(), push_in_bursts(q, count));
    bool delivered = false;
    q.async_pop(asio::bind_cancellation_slot(
        stop.slot(),
        asio::bind_executor(io.get_executor(), [&](std::error_code ec, std::optional<int> item) {
          delivered = true;
          if (ec) {
            ++cancelled;
          } else if (item) {
            out.add(*item);
            ++arrived;
          } else {
            ended = true;
          }
        })));
    if (round == 0 || random.uniform_below(4) == 0) stop.emit(asio::cancellation_type::total);
    while (!delivered) {
      io.restart();
      io.run_one();
    }
    if (arrived == count) q.close();
  }
  leat::block_on(producers.join());
  CHECK(cancelled > 0);
  CHECK(out.sorted() == numbers(0, count));
}

}  // namespace queue_threads_test
