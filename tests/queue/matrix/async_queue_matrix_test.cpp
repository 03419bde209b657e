// Every operation of a queue with every kind of completion token, in every state of the queue.

#include <exception>
#include <functional>
#include <future>
#include <tuple>
#include <type_traits>

#include "leat/queue.hpp"
#include "support/asio_test.hpp"
#include "support/counting_allocator.hpp"

namespace async_queue_matrix_test {

using queue = leat::fifo_queue<int>;
using batch = std::optional<std::vector<int>>;
constexpr std::size_t capacity = 2;

// ------------------------------------------------------------------------------------- the verbs

// A verb starts an operation. It defines whether the operation pushes, the number of items that it
// moves, and the number that a result reports.

struct push {
  static constexpr bool puts_in = true;
  static constexpr std::size_t moves = 1;
  using result = bool;
  template <class Token>
  static auto start(queue& q, Token&& token) {
    return q.async_push(7, std::forward<Token>(token));
  }
  static std::size_t moved(const result& in) { return in ? 1 : 0; }
};

struct push_many {
  static constexpr bool puts_in = true;
  static constexpr std::size_t moves = 3;  // more than the capacity
  using result = std::size_t;
  template <class Token>
  static auto start(queue& q, Token&& token) {
    static int items[3];
    return q.async_push_many(items, std::forward<Token>(token));
  }
  static std::size_t moved(const result& count) { return count; }
};

struct pop {
  static constexpr bool puts_in = false;
  static constexpr std::size_t moves = 1;
  using result = std::optional<int>;
  template <class Token>
  static auto start(queue& q, Token&& token) {
    return q.async_pop(std::forward<Token>(token));
  }
  static std::size_t moved(const result& item) { return item ? 1 : 0; }
};

struct takes_a_batch {
  static constexpr bool puts_in = false;
  static constexpr std::size_t moves = 3;
  using result = batch;
  static std::size_t moved(const result& items) { return items ? items->size() : 0; }
};

struct pop_many : takes_a_batch {
  template <class Token>
  static auto start(queue& q, Token&& token) {
    return q.async_pop_many(3, std::forward<Token>(token));
  }
};

struct pop_up_to : takes_a_batch {
  template <class Token>
  static auto start(queue& q, Token&& token) {
    return q.async_pop_up_to(3, std::forward<Token>(token));
  }
};

// ------------------------------------------------------------------------------------- the tokens

// The result of an operation as a program receives it.
template <class Verb>
struct seen {
  bool ended = false;
  std::error_code ec;
  typename Verb::result result{};
};

// A token starts the operation and stores its result once the context has run. Every token can be
// cancelled through `slot`.

struct callback {
  static constexpr bool sees = true;
  template <class Verb>
  static void start(asio::io_context& io, queue& q, asio::cancellation_slot slot, seen<Verb>& s) {
    Verb::start(q, asio::bind_cancellation_slot(slot, asio::bind_executor(io, note(s))));
  }
  template <class Verb>
  static auto note(seen<Verb>& s) {
    return [&s](std::error_code ec, typename Verb::result r) {
      CHECK_FALSE(s.ended);
      s.ended = true;
      s.ec = ec;
      s.result = std::move(r);
    };
  }
};

struct on_a_strand {
  static constexpr bool sees = true;
  template <class Verb>
  static void start(asio::io_context& io, queue& q, asio::cancellation_slot slot, seen<Verb>& s) {
    const auto strand = asio::make_strand(io);
    const auto inner = callback::note(s);
    Verb::start(q, asio::bind_cancellation_slot(
                       slot, asio::bind_executor(strand, [strand, inner](std::error_code ec,
                                                                         typename Verb::result r) {
                         CHECK(strand.running_in_this_thread());
                         inner(ec, std::move(r));
                       })));
  }
};

struct with_an_allocator {
  static constexpr bool sees = true;
  template <class Verb>
  static void start(asio::io_context& io, queue& q, asio::cancellation_slot slot, seen<Verb>& s) {
    static int live;
    static int total;
    live = total = 0;
    const auto inner = callback::note(s);
    Verb::start(
        q,
        asio::bind_allocator(
            leat_test::counting_allocator<std::byte>(live, total),
            asio::bind_cancellation_slot(
                slot, asio::bind_executor(io, [inner](std::error_code ec, typename Verb::result r) {
                  CHECK(live == 0);  // deallocated before the call of the handler
                  CHECK(total > 0);
                  inner(ec, std::move(r));
                }))));
  }
};

// Stores the result of a token that throws.
template <class Verb, class Get>
void catch_into(seen<Verb>& s, Get&& get) {
  try {
    s.result = get();
  } catch (const leat::asio_system_error& e) {
    s.ec = e.code();
  }
  s.ended = true;
}

struct use_future {
  static constexpr bool sees = true;
  template <class Verb>
  static void start(asio::io_context&, queue& q, asio::cancellation_slot slot, seen<Verb>& s) {
    // The token's handler has its own executor, which owns the promise.
    auto future = std::make_shared<std::future<typename Verb::result>>(
        Verb::start(q, asio::bind_cancellation_slot(slot, asio::use_future)));
    waiting = [future, &s] { catch_into(s, [&] { return future->get(); }); };
  }
  static inline std::function<void()> waiting;
};

struct use_awaitable {
  static constexpr bool sees = true;
  template <class Verb>
  static void start(asio::io_context& io, queue& q, asio::cancellation_slot slot, seen<Verb>& s) {
    asio::co_spawn(io, body<Verb>(q, s), asio::bind_cancellation_slot(slot, asio::detached));
  }
  template <class Verb>
  static asio::awaitable<void> body(queue& q, seen<Verb>& s) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    try {
      s.result = co_await Verb::start(q, asio::use_awaitable);
    } catch (const leat::asio_system_error& e) {
      s.ec = e.code();
    }
    s.ended = true;
  }
};

struct as_tuple {
  static constexpr bool sees = true;
  template <class Verb>
  static void start(asio::io_context& io, queue& q, asio::cancellation_slot slot, seen<Verb>& s) {
    asio::co_spawn(io, body<Verb>(q, s), asio::bind_cancellation_slot(slot, asio::detached));
  }
  template <class Verb>
  static asio::awaitable<void> body(queue& q, seen<Verb>& s) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    auto outcome = co_await Verb::start(q, asio_tokens::as_tuple(asio::use_awaitable));
    s.ec = std::get<0>(outcome);
    s.result = std::move(std::get<1>(outcome));
    s.ended = true;
  }
};

struct detached {
  static constexpr bool sees = false;
  template <class Verb>
  static void start(asio::io_context& io, queue& q, asio::cancellation_slot slot, seen<Verb>&) {
    Verb::start(q, asio::bind_cancellation_slot(slot, asio::bind_executor(io, asio::detached)));
  }
};

// ------------------------------------------------------------------------------------- the matrix

template <class Verb, class Token>
struct combination {
  using verb = Verb;
  using token = Token;
};
template <class Verb>
using with_every_token = std::tuple<combination<Verb, callback>, combination<Verb, on_a_strand>,
                                    combination<Verb, with_an_allocator>,
                                    combination<Verb, use_future>, combination<Verb, use_awaitable>,
                                    combination<Verb, as_tuple>, combination<Verb, detached>>;
using matrix = decltype(std::tuple_cat(with_every_token<push>(), with_every_token<push_many>(),
                                       with_every_token<pop>(), with_every_token<pop_many>(),
                                       with_every_token<pop_up_to>()));

// One operation that has to wait for its queue, which is full for a push and empty for a pop.
template <class Combination>
struct run {
  using verb = typename Combination::verb;
  using token = typename Combination::token;

  run() {
    use_future::waiting = nullptr;
    if (verb::puts_in) fill();
  }

  void start() {
    token::start(io, q, signal.slot(), s);
    io.poll();  // an awaitable begins when the context runs
  }

  // Emits a total cancellation. Asio 1.22 passes it on to an awaitable at once, Asio 1.26 when the
  // context runs.
  void cancel() {
    signal.emit(asio::cancellation_type::total);
    io.restart();
    io.poll();
  }

  // Runs the operation to its end, also with use_future, which waits outside the context.
  void finish() {
    io.restart();
    io.run();
    if (use_future::waiting) std::exchange(use_future::waiting, nullptr)();
    CHECK(s.ended == token::sees);
    CHECK(q.statistics().waiting_pushes == 0);
    CHECK(q.statistics().waiting_pops == 0);
  }

  void fill() {
    while (q.try_push(0)) {
    }
  }

  // Lets the operation move one item.
  [[nodiscard]] bool help() { return verb::puts_in ? q.try_pop().has_value() : q.try_push(0); }

  // Checks what the token has seen of the result, if it sees it.
  template <class Code>
  void has_seen(Code code, std::size_t moved) const {
    if (!token::sees) return;
    CHECK(s.ec == code);
    CHECK(verb::moved(s.result) == moved);
  }

  [[nodiscard]] std::size_t waiting() const {
    return q.statistics().waiting_pushes + q.statistics().waiting_pops;
  }

  queue q{capacity, "q"};
  asio::io_context io;
  asio::cancellation_signal signal;
  seen<verb> s;
};

TEMPLATE_LIST_TEST_CASE("queue: every verb with every token completes at once", "[queue]", matrix) {
  run<TestType> r;
  using verb = typename TestType::verb;
  // A push finds an empty queue and a pop a full one. The third item of a batch follows below.
  if (verb::puts_in) {
    while (r.q.try_pop()) {
    }
  } else {
    r.fill();
  }
  r.start();
  if (verb::moves > capacity) CHECK(r.help());
  r.finish();
  r.has_seen(std::error_code(), verb::moves);
}

TEMPLATE_LIST_TEST_CASE("queue: every verb with every token completes after a wait", "[queue]",
                        matrix) {
  run<TestType> r;
  using verb = typename TestType::verb;
  r.start();
  CHECK(r.waiting() == 1);
  for (std::size_t i = 0; i < verb::moves; ++i) {
    CHECK(r.waiting() == 1);
    CHECK(r.help());
  }
  r.finish();
  CHECK(r.q.size() == (verb::puts_in ? capacity : 0));
  r.has_seen(std::error_code(), verb::moves);
}

TEMPLATE_LIST_TEST_CASE("queue: a close ends the wait of every verb with every token", "[queue]",
                        matrix) {
  run<TestType> r;
  using verb = typename TestType::verb;
  r.start();
  r.q.close_and_cancel();
  r.finish();
  CHECK(r.q.size() == (verb::puts_in ? capacity : 0));
  if (verb::puts_in) {
    r.has_seen(errc::cancelled, 0);
  } else {
    r.has_seen(std::error_code(), 0);
  }
}

TEMPLATE_LIST_TEST_CASE("queue: every verb with every token works on a closed queue", "[queue]",
                        matrix) {
  run<TestType> r;
  r.q.close_and_cancel();
  r.start();
  CHECK(r.waiting() == 0);
  r.finish();
  r.has_seen(std::error_code(), 0);
}

TEMPLATE_LIST_TEST_CASE("queue: every verb with every token reports a failure", "[queue]", matrix) {
  run<TestType> r;
  r.start();
  r.q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  r.finish();
  r.has_seen(errc::data_loss, 0);
}

TEMPLATE_LIST_TEST_CASE("queue: every verb with every token can be cancelled halfway", "[queue]",
                        matrix) {
  run<TestType> r;
  using verb = typename TestType::verb;
  r.start();
  const bool half = verb::moves > 1;
  if (half) CHECK(r.help());
  const bool leaves_a_part = std::is_same_v<verb, push_many>;
  r.signal.emit(leaves_a_part ? asio::cancellation_type::partial : asio::cancellation_type::total);
  r.finish();
  // A pop has put its item back. The item that a push_many added stays, and its result counts it.
  CHECK(r.q.size() == (verb::puts_in ? capacity : half ? 1 : 0));
  if (!TestType::token::sees) return;
  CHECK(r.s.ec == asio::error::operation_aborted);
  CHECK(r.s.ec == errc::cancelled);
  const bool tells = leaves_a_part && !std::is_same_v<typename TestType::token, use_future> &&
                     !std::is_same_v<typename TestType::token, use_awaitable>;
  CHECK(verb::moved(r.s.result) == (tells ? 1 : 0));  // no result with a thrown error code
}

TEMPLATE_LIST_TEST_CASE("queue: a total cancellation never ends a verb partway, with every token",
                        "[queue]", matrix) {
  run<TestType> r;
  using verb = typename TestType::verb;
  r.start();
  const bool begun = GENERATE(false, true) && verb::moves > 1;
  if (begun) CHECK(r.help());
  r.cancel();
  const bool goes_on = begun && verb::puts_in;
  CHECK(r.waiting() == (goes_on ? 1 : 0));
  if (goes_on) {
    r.cancel();
    while (r.waiting() == 1) CHECK(r.q.try_pop());
  }
  r.finish();
  CHECK(r.q.size() == (verb::puts_in ? capacity : begun ? 1 : 0));
  r.has_seen(goes_on ? leat::asio_error_code() : asio::error::operation_aborted,
             goes_on ? verb::moves : 0);
}

}  // namespace async_queue_matrix_test
