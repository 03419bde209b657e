// Operations on zero items. Every form succeeds immediately on every queue, also after a stop.

#include <exception>
#include <stop_token>
#include <thread>
#include <tuple>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue/completion_tokens.hpp"
#include "queue/queue_kinds.hpp"
#include "support/asio_test.hpp"

namespace queue_of_nothing_test {

template <class Kind>
auto no_items() {
  if constexpr (std::is_same_v<typename Kind::item, int>) {
    return typename Kind::run();
  } else {
    return typename Kind::run(leat::tensor(Kind::make_item()[0].type(), {0}));
  }
}

// ------------------------------------------------------------------------------------- the verbs

// Each verb in every form. A form returns true if it succeeds without moving an item.

struct push_many {
  template <class Kind>
  static auto start(typename Kind::queue& q, typename Kind::run& none) {
    return q.push_many(none);
  }
  template <class Kind, class Token>
  static void begin(typename Kind::queue& q, typename Kind::run& none, Token&& token) {
    q.async_push_many(none, std::forward<Token>(token));
  }
  template <class Kind>
  static bool attempt(typename Kind::queue& q, typename Kind::run& none) {
    return is_nothing<Kind>(q.try_push_many(none));
  }
  template <class Kind>
  static bool is_nothing(std::size_t moved) {
    return moved == 0;
  }
};

struct takes_a_batch {
  template <class Kind, class Batch>
  static bool is_nothing(const std::optional<Batch>& batch) {
    return batch && Kind::count(*batch) == 0;
  }
};

struct pop_many : takes_a_batch {
  template <class Kind>
  static auto start(typename Kind::queue& q, typename Kind::run&) {
    return q.pop_many(0);
  }
  template <class Kind, class Token>
  static void begin(typename Kind::queue& q, typename Kind::run&, Token&& token) {
    q.async_pop_many(0, std::forward<Token>(token));
  }
  template <class Kind>
  static bool attempt(typename Kind::queue& q, typename Kind::run&) {
    return is_nothing<Kind>(q.try_pop_many(0));
  }
};

struct pop_up_to : takes_a_batch {
  template <class Kind>
  static auto start(typename Kind::queue& q, typename Kind::run&) {
    return q.pop_up_to(0);
  }
  template <class Kind, class Token>
  static void begin(typename Kind::queue& q, typename Kind::run&, Token&& token) {
    q.async_pop_up_to(0, std::forward<Token>(token));
  }
  template <class Kind>
  static bool attempt(typename Kind::queue& q, typename Kind::run&) {
    return is_nothing<Kind>(q.try_pop_up_to(0));
  }
};

template <class Kind>
using with_every_verb =
    std::tuple<queue_kinds::combination<Kind, push_many>, queue_kinds::combination<Kind, pop_many>,
               queue_kinds::combination<Kind, pop_up_to>>;
template <class... Kinds>
auto batches_of(std::tuple<Kinds...>) -> decltype(std::tuple_cat(with_every_verb<Kinds>()...));
using matrix = decltype(batches_of(queue_kinds::all_kinds()));

// ------------------------------------------------------------------------------------ the queues

enum class state { empty, full, closed, failed };
constexpr state all_states[] = {state::empty, state::full, state::closed, state::failed};

template <class Kind>
void bring(typename Kind::queue& q, state s) {
  if (s == state::full) {
    while (q.try_push(Kind::make_item())) {
    }
  }
  if (s == state::closed) q.close();
  if (s == state::failed) q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "gone")));
}

// ------------------------------------------------------------------------------------- the cases

// Counts the awaited forms that succeed. Each form is one statement.
template <class Combination>
task<> await_all(typename Combination::kind::queue& q, int& successes) {
  using kind = typename Combination::kind;
  using verb = typename Combination::verb;
  auto none = no_items<kind>();
  const auto start = [&] { return verb::template start<kind>(q, none); };
  const auto count = [&successes](std::error_code ec, const auto& result) {
    successes += !ec && verb::template is_nothing<kind>(result) ? 1 : 0;
  };
  const auto plain = co_await start();
  count({}, plain);
  const auto told = co_await leat::as_tuple(start());
  count(told.error, told.value);
  const auto in_time = co_await leat::as_tuple(leat::with_timeout(start(), 1s));
  count(in_time.error, in_time.value);
  const auto late = co_await leat::as_tuple(leat::with_deadline(start(), leat::time_point::min()));
  count(late.error, late.value);
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = co_await leat::as_tuple(leat::with_stop(start(), stop.get_token()));
  count(stopped.error, stopped.value);
}
constexpr int awaited_forms = 5;

TEMPLATE_LIST_TEST_CASE("no items: an awaited operation succeeds, also after a stop", "[queue]",
                        matrix) {
  for (const state s : all_states) {
    for (const bool stopped : {false, true}) {
      CAPTURE(static_cast<int>(s), stopped);
      int successes = 0;
      on_virtual_time([&]() -> task<> {
        typename TestType::kind::queue q = TestType::kind::make();
        bring<typename TestType::kind>(q, s);
        const std::size_t before = q.size();
        task_group g;
        g.spawn(await_all<TestType>(q, successes));
        if (stopped) g.request_stop();
        co_await g.join();
        CHECK(q.size() == before);
      });
      CHECK(successes == awaited_forms);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("no items: a blocking operation succeeds, also with a stopped limit",
                        "[queue]", matrix) {
  using kind = typename TestType::kind;
  using verb = typename TestType::verb;
  for (const state s : all_states) {
    CAPTURE(static_cast<int>(s));
    typename kind::queue q = kind::make();
    bring<kind>(q, s);
    auto none = no_items<kind>();
    int successes = 0;
    const auto block_all = [&](const std::stop_token& stop) {
      const auto count = [&](const auto& result) {
        successes += verb::template is_nothing<kind>(result) ? 1 : 0;
      };
      const auto start = [&] { return verb::template start<kind>(q, none); };
      count(leat::block_on(start()));
      count(leat::block_on(start(), leat::wait_limit(stop)));
      count(leat::block_on(start(), leat::wait_limit(leat::time_point::min())));
    };
    std::stop_source stopped;
    stopped.request_stop();
    block_all(stopped.get_token());
    leat::coordinator coord;
    coord.start_thread("stopped", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      block_all(stop);
    });
    coord.request_stop();
    leat::block_on(coord.join());
    CHECK(coord.secondary_errors().empty());
    CHECK(successes == 6);
  }
}

TEMPLATE_LIST_TEST_CASE(
    "no items: an async operation with a cancelled token and a try operation succeed", "[queue]",
    matrix) {
  using kind = typename TestType::kind;
  using verb = typename TestType::verb;
  for (const state s : all_states) {
    CAPTURE(static_cast<int>(s));
    typename kind::queue q = kind::make();
    bring<kind>(q, s);
    auto none = no_items<kind>();
    CHECK(verb::template attempt<kind>(q, none));
    asio::io_context io;
    asio::cancellation_signal cancel;
    int successes = 0;
    verb::template begin<kind>(
        q, none,
        asio::bind_cancellation_slot(
            cancel.slot(), asio::bind_executor(io, [&](std::error_code ec, const auto& result) {
              successes += !ec && verb::template is_nothing<kind>(result) ? 1 : 0;
            })));
    cancel.emit(asio::cancellation_type::total);
    io.run();
    CHECK(successes == 1);
  }
}

LEAT_TEST("no items: select performs the operation on zero items after a stop") {
  leat::fifo_queue<int> q(1);
  REQUIRE(q.try_push(1));
  std::size_t won = 0;
  task_group g;
  g.spawn([](leat::fifo_queue<int>& from, std::size_t& index) -> task<> {
    const auto first = co_await leat::select(from.pop(), from.pop_many(0), leat::sleep_for(1s));
    index = first.index();
  }(q, won));
  g.request_stop();
  co_await g.join();
  CHECK(won == 1);
  CHECK(q.size() == 1);
}

}  // namespace queue_of_nothing_test
