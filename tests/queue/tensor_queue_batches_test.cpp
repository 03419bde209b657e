// Batches of tensors in the non-blocking and completion-token forms, with and without a weight
// function.

#include <tuple>

#include "leat/queue.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "queue/tensors.hpp"
#include "support/asio_test.hpp"

namespace tensor_queue_batches_test {

using leat::dtype;
using leat::element_spec;
using leat::tensor;
using leat::tensor_tuple;
using batch = std::optional<tensor_tuple>;

using plain = leat::tensor_queue<leat::fifo_queue<tensor_tuple>>;
using weighed = leat::tensor_queue<leat::fifo_queue<tensor_tuple, leat::element_byte_size>>;
using queues = std::tuple<plain, weighed>;

// ---- The non-blocking form.

TEMPLATE_LIST_TEST_CASE("tensor_queue: try_push_many adds as many elements as fit", "[queue]",
                        queues) {
  TestType q(scalars(), std::size_t{4});
  const tensor_tuple six = run_of(0, 6);
  CHECK(q.try_push_many(run_of(0, 0)) == 0);
  CHECK(q.try_push_many(six) == 4);
  CHECK(q.try_push_many(six) == 0);
  CHECK(six == run_of(0, 6));
  CHECK(q.statistics().pushed == 4);
  CHECK(q.try_pop_many(4) == run_of(0, 4));
  CHECK(q.statistics().weight == 0);
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: try_pop_many takes all or nothing", "[queue]", queues) {
  TestType q(scalars(), std::size_t{4});
  CHECK(q.try_push_many(run_of(0, 3)) == 3);
  CHECK_FALSE(q.try_pop_many(4));
  CHECK(q.size() == 3);
  CHECK(q.try_pop_many(2) == run_of(0, 2));
  q.close();
  CHECK(q.try_push_many(run_of(3, 1)) == 0);
  CHECK_FALSE(q.try_pop_many(2));
  CHECK(q.try_pop_many(1) == run_of(2, 1));
  CHECK_FALSE(q.try_pop_many(1));
  CHECK(q.try_pop_many(0) == run_of(0, 0));
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: try_pop_up_to takes the available elements", "[queue]",
                        queues) {
  TestType q(scalars(), std::size_t{8});
  CHECK_FALSE(q.try_pop_up_to(4));
  CHECK(q.try_push_many(run_of(0, 7)) == 7);
  CHECK(q.try_pop_up_to(4) == run_of(0, 4));
  CHECK(q.try_pop_up_to(4) == run_of(4, 3));
  CHECK(q.try_pop_up_to(0) == run_of(0, 0));
  CHECK_FALSE(q.try_pop_up_to(1));
}

TEST_CASE("tensor_queue: rejects try batches that can never succeed") {
  plain q(scalars(), std::size_t{4}, "q");
  const auto minus_one = static_cast<std::size_t>(-1);
  CHECK_FAILS(errc::invalid_argument, "queue 'q': Type mismatch", q.try_push_many(one(texts("a"))));
  CHECK_FAILS(errc::invalid_argument, "negative", q.try_pop_many(minus_one));
  CHECK_FAILS(errc::invalid_argument, "negative", q.try_pop_up_to(minus_one));
  CHECK(q.size() == 0);

  plain without(element_spec({{.type = dtype::int32}}), std::size_t{4});
  CHECK(without.try_push_many(run_of(0, 2)) == 2);
  CHECK_FAILS(errc::invalid_argument, "has an unknown rank", without.try_pop_many(2));
  CHECK_FAILS(errc::invalid_argument, "has an unknown rank", without.try_pop_up_to(2));
  CHECK(without.size() == 2);
}

TEST_CASE("tensor_queue: try_push_many adds elements up to the weight limit") {
  weighed q(element_spec({{.type = dtype::int32, .shape = {any}}}),
            leat::queue_options{.capacity = 100, .max_weight = 20, .name = "q"});
  CHECK(q.try_push_many(one(tensor(dtype::int32, {4, 2}))) == 2);
  CHECK(q.statistics().weight == 16);
  CHECK_FAILS(errc::resource_exhausted, "exceeds the max_weight of 20",
              q.try_push_many(one(tensor(dtype::int32, {1, 6}))));
  CHECK(q.statistics().weight == 16);
  CHECK(q.try_pop_up_to(9) == one(tensor(dtype::int32, {2, 2})));
  CHECK(q.statistics().weight == 0);
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: a try batch that cannot be stacked removes no element",
                        "[queue]", queues) {
  TestType q(spec_of(dtype::int32, {any, any}), std::size_t{4});
  CHECK(q.try_push(tall()));
  CHECK(q.try_push(wide()));
  CHECK(q.try_push(tall()));
  CHECK_FAILS(errc::invalid_argument, "more values", q.try_pop_many(2));
  CHECK_FAILS(errc::invalid_argument, "more values", q.try_pop_up_to(9));
  CHECK(q.size() == 3);
  CHECK(q.statistics().popped == 0);
  CHECK(q.try_pop() == tall());
  CHECK(q.try_pop() == wide());
}

LEAT_TEST("tensor_queue: try batches never overtake waiting operations") {
  plain q(scalars(), std::size_t{2});
  task_group g;
  batch three;
  g.spawn([](plain& from, batch& out) -> task<> { out = co_await from.pop_many(3); }(q, three));
  co_await settle();
  CHECK(q.try_push_many(run_of(0, 2)) == 2);  // the waiting batch holds them
  CHECK_FALSE(q.try_pop_many(1));
  CHECK_FALSE(q.try_pop_up_to(1));
  CHECK(q.try_push_many(run_of(2, 9)) == 3);
  co_await g.join();
  CHECK(three == run_of(0, 3));

  bool in = false;
  g.spawn([](plain& to, bool& done) -> task<> { done = co_await to.push(one(5)); }(q, in));
  co_await settle();
  CHECK(q.try_push_many(run_of(7, 1)) == 0);
  CHECK(q.try_pop_up_to(9) == run_of(3, 2));  // adds the item of the waiting push after them
  co_await g.join();
  CHECK(in);
  CHECK(q.try_pop() == one(5));
}

// ---- The completion-token form.

// The arguments of a handler's calls.
template <class Result>
struct seen {
  int calls = 0;
  std::error_code ec;
  Result result{};

  auto handler(asio::io_context& io) {
    return asio::bind_executor(io, [this](std::error_code error, Result value) {
      ++calls;
      ec = error;
      result = std::move(value);
    });
  }
};

TEMPLATE_LIST_TEST_CASE("tensor_queue: async batches work with callbacks", "[queue]", queues) {
  TestType q(scalars(), std::size_t{2});
  asio::io_context io;
  seen<batch> out;
  seen<std::size_t> in;
  seen<batch> rest;
  seen<batch> end;
  q.async_pop_many(5, out.handler(io));
  q.async_push_many(run_of(0, 7), in.handler(io));
  q.close();
  q.async_pop_up_to(4, rest.handler(io));
  q.async_pop_many(1, end.handler(io));
  io.run();
  CHECK(out.calls + in.calls + rest.calls + end.calls == 4);
  CHECK_FALSE((out.ec || in.ec || rest.ec || end.ec));
  CHECK(out.result == run_of(0, 5));
  CHECK(in.result == 7);
  CHECK(rest.result == run_of(5, 2));
  CHECK_FALSE(end.result);
  CHECK(q.statistics().weight == 0);
}

template <class Queue>
asio::awaitable<void> push_runs(Queue& q) {
  for (int first = 0; first < 12; first += 4) {
    CHECK(co_await q.async_push_many(run_of(first, 4), asio::use_awaitable) == 4);
  }
  q.close();
}

template <class Queue>
asio::awaitable<void> pop_batches(Queue& q, std::vector<batch>& out) {
  batch first = co_await q.async_pop_many(5, asio::use_awaitable);
  out.push_back(std::move(first));
  for (;;) {
    batch next = co_await q.async_pop_up_to(5, asio::use_awaitable);
    if (!next) co_return;
    out.push_back(std::move(next));
  }
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: async batches work with use_awaitable", "[queue]", queues) {
  TestType q(scalars(), std::size_t{2});
  asio::io_context io;
  std::vector<batch> out;
  asio::co_spawn(io, push_runs(q), asio::detached);
  asio::co_spawn(io, pop_batches(q, out), asio::detached);
  io.run();
  CHECK(out == std::vector<batch>{run_of(0, 5), run_of(5, 5), run_of(10, 2)});
  CHECK(q.statistics().weight == 0);
}

// use_awaitable begins an operation when it is awaited, which may be long after the call.
template <class Queue>
asio::awaitable<void> await_later(Queue& q, batch& out) {
  auto pop = q.async_pop_many(3, asio::use_awaitable);
  auto push = q.async_push_many(run_of(0, 3), asio::use_awaitable);
  CHECK(q.size() == 0);
  CHECK(co_await std::move(push) == 3);
  out = co_await std::move(pop);
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: an async batch owns its elements until it starts", "[queue]",
                        queues) {
  TestType q(scalars(), std::size_t{4});
  asio::io_context io;
  batch out;
  asio::co_spawn(io, await_later(q, out), asio::detached);
  io.run();
  CHECK(out == run_of(0, 3));
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: an async batch can be cancelled", "[queue]", queues) {
  TestType q(scalars(), std::size_t{2});
  asio::io_context io;
  SECTION("that waits gives back what it held") {
    asio::cancellation_signal stop;
    seen<batch> out;
    q.async_pop_many(3, asio::bind_cancellation_slot(stop.slot(), out.handler(io)));
    CHECK(q.try_push_many(run_of(0, 2)) == 2);
    CHECK(q.size() == 0);
    stop.emit(asio::cancellation_type::total);
    io.run();
    CHECK(out.calls == 1);
    CHECK(out.ec == asio::error::operation_aborted);
    CHECK_FALSE(out.result);
    CHECK(q.try_pop_many(2) == run_of(0, 2));
  }
  SECTION("whose handler has not been called gives back all") {
    asio::cancellation_signal stop;
    seen<batch> out;
    CHECK(q.try_push_many(run_of(0, 2)) == 2);
    q.async_pop_up_to(2, asio::bind_cancellation_slot(stop.slot(), out.handler(io)));
    CHECK(q.size() == 0);
    stop.emit(asio::cancellation_type::total);
    io.run();
    CHECK(out.ec == asio::error::operation_aborted);
    CHECK_FALSE(out.result);
    CHECK(q.try_pop_many(2) == run_of(0, 2));
  }
  SECTION("of a push leaves in what is in, and tells how much") {
    asio::cancellation_signal stop;
    seen<std::size_t> in;
    q.async_push_many(run_of(0, 5), asio::bind_cancellation_slot(stop.slot(), in.handler(io)));
    stop.emit(asio::cancellation_type::partial);
    io.run();
    CHECK(in.ec == asio::error::operation_aborted);
    CHECK(in.result == 2);
    CHECK(q.try_pop_up_to(9) == run_of(0, 2));
  }
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: an async batch that cannot be stacked returns its elements",
                        "[queue]", queues) {
  TestType q(spec_of(dtype::int32, {any, any}), std::size_t{4});
  CHECK(q.try_push(tall()));
  CHECK(q.try_push(wide()));
  asio::io_context io;
  seen<batch> out;
  seen<batch> up_to;
  q.async_pop_many(2, out.handler(io));
  io.run();
  CHECK(out.ec == errc::invalid_argument);
  CHECK_FALSE(out.result);
  io.restart();
  q.async_pop_up_to(2, up_to.handler(io));
  io.run();
  CHECK(up_to.ec == errc::invalid_argument);
  CHECK(q.try_pop() == tall());
  CHECK(q.try_pop() == wide());
}

TEST_CASE("tensor_queue: the call rejects async batches that can never succeed") {
  plain q(scalars(), std::size_t{4}, "q");
  asio::io_context io;
  seen<std::size_t> in;
  seen<batch> out;
  const auto minus_one = static_cast<std::size_t>(-1);
  const auto push = [&] { q.async_push_many(one(texts("a")), in.handler(io)); };
  const auto pop = [&] { q.async_pop_many(minus_one, out.handler(io)); };
  const auto pop_some = [&] { q.async_pop_up_to(minus_one, out.handler(io)); };
  CHECK_FAILS(errc::invalid_argument, "queue 'q': Type mismatch", push());
  CHECK_FAILS(errc::invalid_argument, "negative", pop());
  CHECK_FAILS(errc::invalid_argument, "negative", pop_some());
  io.run();
  CHECK(in.calls + out.calls == 0);
}

}  // namespace tensor_queue_batches_test
