// A completion through Asio needs only the memory that its operation allocated at the start. If
// that allocation fails, the initiating function throws and changes nothing. An operation that has
// started always delivers its completion.

#include <atomic>
#include <future>
#include <new>

#include <asio/any_io_executor.hpp>
#include <asio/bind_allocator.hpp>
#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include "faults/failing_allocations.hpp"
#include "leat/queue/completion_tokens.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace completion_memory_test {

using leat_test::until_failure;

// Runs with the n-th allocation failing, for every n until fewer than n allocations are made.
template <class Executor>
void push_without_memory(leat::fifo_queue<int>& q, const Executor& executor,
                         std::atomic<int>& calls) {
  const auto handler = asio::bind_executor(executor, [&calls](std::error_code ec, bool accepted) {
    calls += !ec && accepted ? 1 : 1000;
  });
  for (int n = 0;; ++n) {
    INFO("allocation " << n);
    REQUIRE(n < 100);
    auto copy = handler;
    bool thrown = false;
    until_failure = n;
    try {
      q.async_push(n, std::move(copy));
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool reached = until_failure.exchange(-1) < 0;
    REQUIRE(thrown == reached);
    REQUIRE(q.size() == (thrown ? 0 : 1));
    if (!reached) return;
  }
}

template <class Executor>
void pop_without_memory(leat::fifo_queue<int>& q, const Executor& executor,
                        std::atomic<int>& calls) {
  q.async_pop(asio::bind_executor(executor, [&calls](std::error_code ec, std::optional<int> item) {
    calls += !ec && item == 7 ? 1 : 1000;
  }));
  until_failure = 0;
  const bool pushed = q.try_push(7);
  CHECK(until_failure.exchange(-1) == 0);
  CHECK(pushed);
  CHECK(q.size() == 0);
}

// Checks a push and a pop, and that `run` calls both handlers after it has run all posted work.
template <class Executor, class Run>
void check(const Executor& executor, Run run) {
  std::atomic<int> calls = 0;
  leat::fifo_queue<int> one(1);
  leat::fifo_queue<int> other(1);
  push_without_memory(one, executor, calls);
  pop_without_memory(other, executor, calls);
  run();
  CHECK(calls == 2);
}

// A thread that runs a handler has made all allocations of its start.
void wait_until_running(asio::thread_pool& pool) {
  std::promise<void> running;
  asio::post(pool, [&running] { running.set_value(); });
  running.get_future().wait();
}

template <class MakeExecutor>
void check_in_context(MakeExecutor make) {
  asio::io_context io;
  check(make(io.get_executor()), [&io] { io.run(); });
}

template <class MakeExecutor>
void check_in_pool(MakeExecutor make) {
  asio::thread_pool pool(1);
  wait_until_running(pool);
  check(make(pool.get_executor()), [&pool] { pool.join(); });
}

TEST_CASE("async_push: a completion needs no memory of its own", "[faults]") {
  const auto same = [](const auto& executor) { return executor; };
  check_in_context(same);
  check_in_pool(same);
}

TEST_CASE("async_push: a completion on a strand needs no memory of its own", "[faults]") {
  const auto strand = [](const auto& executor) { return asio::make_strand(executor); };
  check_in_context(strand);
  check_in_pool(strand);
}

TEST_CASE("async_push: a completion on an any_io_executor needs no memory of its own", "[faults]") {
  using any = asio::any_io_executor;
  check_in_context([](const auto& executor) { return any(executor); });
  check_in_context([](const auto& executor) { return any(asio::make_strand(executor)); });
}

// The work guard of an operation allocates in a noexcept function if its executor is an
// any_io_executor of a thread pool. An operation holds that guard from its start, so this test
// covers completions only.
TEST_CASE("async_pop: a completion on an any_io_executor of a pool needs no memory", "[faults]") {
  std::atomic<int> calls = 0;
  leat::fifo_queue<int> one(1);
  leat::fifo_queue<int> other(1);
  asio::thread_pool pool(1);
  wait_until_running(pool);
  pop_without_memory(one, asio::any_io_executor(pool.get_executor()), calls);
  pop_without_memory(other, asio::any_io_executor(asio::make_strand(pool)), calls);
  pool.join();
  CHECK(calls == 2);
}

// Overwrites memory before it is deallocated.
template <class T>
struct spoiling_allocator {
  using value_type = T;
  spoiling_allocator() = default;
  template <class U>
  spoiling_allocator(const spoiling_allocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* place, std::size_t n) noexcept {
    auto* const bytes = reinterpret_cast<volatile unsigned char*>(place);
    for (std::size_t i = 0; i < n * sizeof(T); ++i) bytes[i] = 0xA5;
    std::allocator<T>().deallocate(place, n);
  }
  friend bool operator==(const spoiling_allocator&, const spoiling_allocator&) = default;
};

// Starts two operations whose completions never run.
template <class Executor>
void complete_two(leat::fifo_queue<int>& q, const Executor& executor,
                  const std::shared_ptr<int>& mark) {
  const auto bound = [&executor](auto handler) {
    return asio::bind_allocator(spoiling_allocator<std::byte>(),
                                asio::bind_executor(executor, std::move(handler)));
  };
  q.async_push(1, bound([mark](std::error_code, bool) { ++*mark; }));
  q.async_pop(bound([mark](std::error_code, std::optional<int>) { ++*mark; }));
  CHECK(mark.use_count() == 3);
}

template <class MakeExecutor>
void check_destroyed(MakeExecutor make) {
  leat::fifo_queue<int> q(1);
  const auto mark = std::make_shared<int>(0);
  {
    asio::io_context io;
    complete_two(q, make(io.get_executor()), mark);
  }
  {
    asio::thread_pool pool(1);
    pool.stop();
    pool.join();
    complete_two(q, make(pool.get_executor()), mark);
  }
  CHECK(mark.use_count() == 1);
  CHECK(*mark == 0);
}

// A strand destroys its own queue before the queue of its underlying executor is destroyed.
TEST_CASE("async_push: a completion that never runs is destroyed with its context", "[faults]") {
  using any = asio::any_io_executor;
  check_destroyed([](const auto& executor) { return executor; });
  check_destroyed([](const auto& executor) { return asio::make_strand(executor); });
  check_destroyed([](const auto& executor) { return any(executor); });
  check_destroyed([](const auto& executor) { return any(asio::make_strand(executor)); });
  check_destroyed([](const auto& executor) { return any(asio::make_strand(any(executor))); });
}

}  // namespace completion_memory_test
