#include "leat/queue/tensor_queue.hpp"
#include "leat/queue.hpp"

#include <algorithm>
#include <exception>
#include <sstream>
#include <thread>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "leat/coordination.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "queue/tensors.hpp"
#include "support/leat_test.hpp"

namespace tensor_queue_test {

using leat::dtype;
using leat::element_spec;
using leat::padding_fifo_queue;
using leat::tensor;
using leat::tensor_tuple;

using batch = std::optional<tensor_tuple>;
using without_shapes = leat::tensor_queue<leat::fifo_queue<tensor_tuple>>;

template <class Queue, class Value>
concept accepts = requires(Queue& q, Value value) { q.try_push(std::move(value)); };

task<> push_numbers(padding_fifo_queue& q, int first, int count, std::size_t& in) {
  try {
    in = co_await q.push_many(run_of(first, count));
  } catch (const leat::partial_push_error& e) {
    in = e.count() + 1000;
  }
}

task<> pop_batch(padding_fifo_queue& q, std::size_t count, batch& out) {
  out = co_await q.pop_many(count);
}

// ---- Without shapes.

LEAT_TEST("tensor_queue: without shapes it accepts elements and empty batches") {
  without_shapes q(element_spec({{.type = dtype::int32}}), 10U);
  CHECK(co_await q.push_many(run_of(0, 0)) == 0);
  CHECK(q.size() == 0);
  CHECK(q.try_push(one(1)));
  CHECK(q.try_push(one(ints(1, 2))));
  const batch first = co_await q.pop();
  const batch second = co_await q.pop();
  CHECK(first == one(1));
  CHECK(second == one(ints(1, 2)));
}

TEST_CASE("tensor_queue: a batch needs shapes, even if it is empty") {
  without_shapes q(element_spec({{.type = dtype::int32}}), 10U, "q");
  CHECK_FAILS(errc::invalid_argument, "queue 'q': component 0 has an unknown rank",
              leat::block_on(q.pop_many(0)));
  CHECK_FAILS(errc::invalid_argument, "has an unknown rank", leat::block_on(q.pop_up_to(0)));
}

TEST_CASE("tensor_queue: compares lengths even without shapes") {
  without_shapes q(element_spec({{.type = dtype::int32}, {.type = dtype::int32}}), 10U);
  CHECK_FAILS(errc::invalid_argument, "dimension 0 must be the same in all components",
              leat::block_on(q.push_many(tensor_tuple(ints(1, 2), ints(1)))));
  CHECK(q.size() == 0);
}

TEST_CASE("tensor_queue: an unsuitable C++ type does not compile") {
  using typed = leat::fifo_queue<std::pair<int, float>>;
  STATIC_REQUIRE(accepts<typed, std::pair<int, float>>);
  STATIC_REQUIRE_FALSE(accepts<typed, int>);
  STATIC_REQUIRE_FALSE(accepts<typed, std::pair<int, std::string>>);
}

// ---- With other orders.

LEAT_TEST("tensor_queue: works with a random_shuffle_queue") {
  using shuffled = leat::tensor_queue<leat::random_shuffle_queue<tensor_tuple>>;
  shuffled q(scalars(), leat::shuffle_options{.capacity = 100, .seed = 3, .name = "q"});
  CHECK(co_await q.push_many(run_of(0, 100)) == 100);
  const batch all = co_await q.pop_many(100);
  REQUIRE(all);
  const auto values = (*all)[0].values<int>();
  std::vector<int> drawn(values.begin(), values.end());
  CHECK_FALSE(std::is_sorted(drawn.begin(), drawn.end()));
  std::sort(drawn.begin(), drawn.end());
  CHECK(one(int_vector(drawn)) == run_of(0, 100));
}

// ---- The contract of all queues, for a tensor_queue.

LEAT_TEST("tensor_queue: a push of many waits for space and stays contiguous") {
  padding_fifo_queue q(scalars(), 2);
  std::size_t first = 0;
  std::size_t second = 0;
  task_group g;
  g.spawn(push_numbers(q, 0, 5, first));
  g.spawn(push_numbers(q, 10, 2, second));
  co_await settle();
  CHECK(q.size() == 2);
  CHECK(q.statistics().waiting_pushes == 2);
  const batch all = co_await q.pop_many(7);
  co_await g.join();
  CHECK(first == 5);
  CHECK(second == 2);
  CHECK(all == one(ints(0, 1, 2, 3, 4, 10, 11)));
}

LEAT_TEST("tensor_queue: a push_many that is cancelled halfway keeps the added items") {
  padding_fifo_queue q(scalars(), 2);
  std::size_t in = 0;
  task_group g;
  g.spawn(push_numbers(q, 0, 5, in));
  co_await settle();
  q.close_and_cancel();
  co_await g.join();
  CHECK(in == 1002);
  const batch left = co_await q.pop_up_to(5);
  CHECK(left == run_of(0, 2));
}

LEAT_TEST("tensor_queue: a cancelled batch returns its elements to the front") {
  padding_fifo_queue q(spec_of(dtype::int32, {any}), 4);
  batch out;
  task_group g;
  g.spawn(pop_batch(q, 3, out));
  co_await settle();
  CHECK(q.try_push(one(ints(1))));
  CHECK(q.try_push(one(ints(2, 2))));
  g.request_stop();
  co_await g.join();
  CHECK_FALSE(out);
  CHECK(q.try_push(one(ints())));
  const batch three = co_await q.pop_many(3);
  CHECK(three == one(tensor::of({3, 2}, {1, 0, 2, 2, 0, 0})));
  CHECK(q.statistics().returned == 2);
}

LEAT_TEST("tensor_queue: a batch that loses a select removes no element") {
  padding_fifo_queue q(scalars(), 4);
  CHECK(q.try_push(one(1)));
  CHECK(co_await code_of(leat::with_timeout(q.pop_many(2), std::chrono::seconds(1))) ==
        errc::deadline_exceeded);
  CHECK(q.size() == 1);
  CHECK(q.try_push(one(2)));
  const auto in_time = co_await leat::with_timeout(q.pop_many(2), std::chrono::seconds(1));
  CHECK(in_time == run_of(1, 2));
}

LEAT_TEST("tensor_queue: a push to a closed queue returns false and does not move") {
  padding_fifo_queue q(scalars(), 4);
  CHECK(q.close());
  CHECK_FALSE(q.close());
  CHECK(q.is_closed());
  tensor_tuple element = one(5);
  CHECK_FALSE(co_await q.push(std::move(element)));
  CHECK(element == one(5));  // NOLINT(bugprone-use-after-move): that is the promise
  CHECK_FALSE(q.try_push(element));
}

LEAT_TEST("tensor_queue: after a failure batches throw its cause") {
  padding_fifo_queue q(scalars(), 4);
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  CHECK(q.failure_cause());
  CHECK(co_await code_of(q.pop_many(1)) == errc::data_loss);
}

// ---- A batch that is too large for memory.

// First in, first out. A reservation throws std::bad_alloc while `refuse` is set. A batch reserves
// nothing to return its items, because it takes them together.
class refusing_order : public leat::detail::ring_order<tensor_tuple> {
 public:
  static constexpr bool takes_whole_batches = true;
  explicit refusing_order(const bool& refuse) : refuse_(refuse) {}
  void reserve(std::size_t count) {
    if (refuse_) throw std::bad_alloc();
    ring_order::reserve(count);
    reserved_ = count;
  }
  [[nodiscard]] std::size_t slots() const noexcept { return reserved_; }

 private:
  const bool& refuse_;
  std::size_t reserved_ = 0;
};

struct refusing_queue : leat::basic_queue<tensor_tuple, refusing_order> {
  using options_type = leat::queue_options;
  static constexpr const char* kind = "refusing_queue";
  refusing_queue(std::size_t capacity, const bool& refuse)
      : basic_queue({.capacity = capacity, .name = "refusing"}, 0, leat::unweighed(), refuse) {}
};

template <class Queue>
task<> pop_too_large(Queue& q, std::string& error) {
  error = co_await message_of<leat::failure>(q.pop_many(2));
}

LEAT_TEST("tensor_queue: elements that cannot be stacked return to the front") {
  padding_fifo_queue q(spec_of(dtype::int32, {any, any}), 3);
  CHECK(q.try_push(tall()));
  CHECK(q.try_push(wide()));
  CHECK(q.try_push(tall()));
  std::string error;
  task_group g;
  g.spawn(pop_too_large(q, error));
  g.spawn(pop_too_large(q, error));
  co_await g.join();
  CHECK(contains(error, "64 bits"));
  CHECK(q.size() == 3);
  CHECK(q.statistics().popped == 0);
  CHECK_FALSE(q.failure_cause());
  CHECK(q.try_pop() == tall());
  CHECK(q.try_pop() == wide());
}

LEAT_TEST("tensor_queue: elements that can neither be stacked nor returned fail the queue") {
  bool refuse = false;
  leat::tensor_queue<refusing_queue> q(spec_of(dtype::int32, {any, any}), 3U, refuse);
  std::string error;
  task_group g;
  g.spawn(pop_too_large(q, error));
  co_await settle();
  refuse = true;
  CHECK(q.try_push(tall()));
  CHECK(q.try_push(wide()));
  for (int i = 0; i < 3; ++i) CHECK(q.try_push(tall()));
  co_await g.join();
  CHECK(contains(error, "more values"));
  CHECK(leat::to_error_code(q.failure_cause()) == errc::resource_exhausted);
  CHECK(q.is_closed());
}

// ---- The other forms of operations.

TEST_CASE("tensor_queue: has the non-blocking form of each operation") {
  padding_fifo_queue q(scalars(), 1, "one");
  const tensor_tuple first = one(1);
  CHECK(q.try_push(first));
  CHECK_FALSE(q.try_push(one(2)));
  CHECK(q.try_pop() == first);
  CHECK_FALSE(q.try_pop());
  CHECK(q.name() == "one");
  CHECK(q.capacity() == 1);
  std::ostringstream text;
  q.describe(text);
  CHECK(text.str() == "queue 'one' (0 of 1, weight 0)");
}

TEST_CASE("tensor_queue: has the blocking form of each operation") {
  padding_fifo_queue q(scalars(), 3);
  std::jthread producer([&] {
    const tensor_tuple first = one(0);
    CHECK(leat::block_on(q.push(first)));
    CHECK(leat::block_on(q.push(one(1))));
    CHECK(leat::block_on(q.push_many(run_of(2, 8))) == 8);
    q.close();
  });
  CHECK(leat::block_on(q.pop()) == one(0));
  CHECK(leat::block_on(q.pop_many(4)) == run_of(1, 4));
  CHECK(leat::block_on(q.pop_up_to(100)) == run_of(5, 5));
  CHECK_FALSE(leat::block_on(q.pop_many(1)));
}

TEST_CASE("tensor_queue: has the Asio form of each operation") {
  padding_fifo_queue q(scalars(), 1);
  asio::io_context io;
  batch out;
  q.async_pop(asio::bind_executor(io, [&](std::error_code ec, batch element) {
    CHECK_FALSE(ec);
    out = std::move(element);
  }));
  bool in = false;
  q.async_push(one(3), asio::bind_executor(io, [&](std::error_code ec, bool accepted) {
                 CHECK_FALSE(ec);
                 in = accepted;
               }));
  io.run();
  CHECK(in);
  CHECK(out == one(3));
  CHECK_FAILS(errc::invalid_argument, "Expected [], got [1]",
              q.async_push(one(ints(1)), asio::bind_executor(io, [](std::error_code, bool) {})));
}

LEAT_TEST("tensor_queue: a queue_runner keeps it filled and closes it") {
  padding_fifo_queue q(spec_of(dtype::int32, {any}), 2, "numbers");
  int next = 0;
  leat::queue_runner runner(q);
  struct producer {
    static task<bool> step(padding_fifo_queue& to, int& i) {
      if (i == 3) co_return false;
      ++i;
      co_return co_await to.push(one(int_vector(std::vector<int>(static_cast<std::size_t>(i), i))));
    }
  };
  runner.add([&] { return producer::step(q, next); });
  leat::coordinator coord;
  runner.start(coord);
  const batch all = co_await q.pop_up_to(10);
  co_await coord.join();
  CHECK(all == one(tensor::of({3, 3}, {1, 0, 0, 2, 2, 0, 3, 3, 3})));
}

}  // namespace tensor_queue_test
