// Producers of lists, and the common behaviour of all producers.

#include "leat/input/input_producer.hpp"

#include <algorithm>
#include <concepts>

#include "input/producing.hpp"
#include "leat/input/match_filenames_once.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

using namespace producing;
using leat::string_input_producer;
using leat::sim::world;

namespace input_producer_test {

task<names> find(names found) {
  co_await leat::this_task::yield();
  co_return found;
}

task<names> find_none() { return find({}); }
task<names> find_two() { return find({"x", "y"}); }
task<names> fail_to_find() {
  co_await leat::this_task::yield();
  throw leat::failure(errc::permission_denied, "/secret cannot be listed");
}

// A producer as a member. When clang copies a producer, it checks whether the producer is a
// callable that finds items, which it is not.
struct training {
  explicit training(names files) : producer(std::move(files)) {}
  string_input_producer producer;
};
static_assert(!std::copy_constructible<training>);

// ------------------------------------------------------------------------------------ the epochs

LEAT_TEST("string_input_producer: each epoch is the list without shuffle") {
  const names words{"to", "be", "or", "not", "to", "be"};
  string_input_producer p(words, {.num_epochs = 3, .shuffle = false});
  const names out = co_await all_of(p);
  names expected;
  for (int e = 0; e < 3; ++e) expected.insert(expected.end(), words.begin(), words.end());
  CHECK(out == expected);
  CHECK(p.queue().is_closed());
}

LEAT_TEST("string_input_producer: all orders are equally likely") {
  string_input_producer p({"a", "b", "c"}, {.num_epochs = 600, .seed = 5});
  const names out = co_await all_of(p);
  REQUIRE(out.size() == 1800);
  check_orders(out, 3, 6, 61, 139);
}

LEAT_TEST("string_input_producer: the queue never exceeds its capacity") {
  names forty;
  for (int i = 0; i < 40; ++i) forty.push_back(std::to_string(i));
  string_input_producer p(forty, {.num_epochs = 1, .shuffle = false, .capacity = 3});
  leat::coordinator coord;
  p.start(coord);
  names out;
  for (;;) {
    co_await leat::sleep_for(1s);
    if (out.size() < 37) CHECK(p.queue().size() == 3);
    auto item = co_await p.queue().pop();
    if (!item) break;
    out.push_back(std::move(*item));
  }
  co_await coord.join();
  CHECK(out == forty);
  CHECK(p.queue().statistics().peak_size == 3);
}

TEST_CASE("string_input_producer: epochs do not mix in any schedule") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed, {.threads = 2});
    w.run([](world& here) -> task<> {
      string_input_producer p({"a", "b", "c"},
                              {.num_epochs = 50, .seed = here.seed(), .capacity = 2});
      here.add_invariants(p.queue());
      names out = co_await all_of(p, here.thread(1));
      here.clear_invariants();
      REQUIRE(out.size() == 150);
      for (auto at = out.begin(); at != out.end(); at += 3) {
        std::sort(at, at + 3);
        REQUIRE((names(at, at + 3) == names{"a", "b", "c"}));
      }
    });
  }
}

// These orders are part of the contract: they are equal with every compiler and on every platform.
LEAT_TEST("string_input_producer: the order of an epoch is a function of seed and epoch") {
  string_input_producer p({"a", "b", "c", "d", "e"}, {.num_epochs = 4, .seed = 7});
  const names out = co_await all_of(p);
  std::string text;
  for (const std::string& s : out) text += s;
  CHECK(text == "dbcaeacebdadbecdbeac");
}

LEAT_TEST("string_input_producer: without a seed each producer has its own orders") {
  names many;
  for (int i = 0; i < 50; ++i) many.push_back(std::to_string(i));
  string_input_producer a(many, {.num_epochs = 1});
  string_input_producer b(many, {.num_epochs = 1});
  const names first = co_await all_of(a);
  const names second = co_await all_of(b);
  CHECK(first != second);
}

LEAT_TEST("string_input_producer: continues until it is stopped without num_epochs") {
  string_input_producer p({"a", "b"}, {.shuffle = false, .capacity = 1});
  leat::coordinator coord;
  p.start(coord);
  std::string text;
  for (int i = 0; i < 101; ++i) text += *co_await p.queue().pop();
  coord.request_stop();
  co_await coord.join();
  CHECK(text.substr(97) == "baba");
  CHECK(p.queue().is_closed());
}

LEAT_TEST("input_producer: accepts items of any copyable type") {
  leat::input_producer<std::pair<int, std::string>> p({{1, "one"}, {2, "two"}},
                                                      {.num_epochs = 1, .shuffle = false});
  const auto out = co_await all_of(p);
  REQUIRE(out.size() == 2);
  CHECK(out[1].second == "two");
}

// ------------------------------------------------------------------------------------ refusals

TEST_CASE("string_input_producer: refuses invalid options at construction") {
  const auto said = [](names items, const leat::producer_options& options) {
    return refusal([&] { return string_input_producer(std::move(items), options).items(); });
  };
  CHECK(contains(said({}, {.name = "names"}), "producer 'names': list of items is empty"));
  CHECK(contains(said({"a"}, {.num_epochs = 0}), "num_epochs is 0"));
  CHECK(contains(said({"a"}, {.num_epochs = -1}), "num_epochs is -1"));
  CHECK(contains(said({"a"}, {.capacity = 0}), "capacity"));
  CHECK(contains(said({"a"}, {.capacity = leat::unbounded}), "set num_epochs or a capacity"));
}

LEAT_TEST("string_input_producer: an unbounded queue takes all epochs at once") {
  string_input_producer p({"a", "b"}, {.num_epochs = 100, .capacity = leat::unbounded});
  leat::coordinator coord;
  p.start(coord);
  co_await coord.join();
  CHECK(p.queue().size() == 200);
}

// ------------------------------------------------------------------- lists found at run time

LEAT_TEST("string_input_producer: the list may be found at run time") {
  string_input_producer p(find_two, {.num_epochs = 2, .shuffle = false});
  CHECK(p.items() == 0);
  const names out = co_await all_of(p);
  CHECK(out == names{"x", "y", "x", "y"});
  CHECK(p.items() == 2);
}

TEST_CASE("string_input_producer: produces the files of match_filenames_once") {
  world w(1);
  w.run([](world& here) -> task<> {
    const leat::match_filenames_once files("/in/*");
    string_input_producer p(files, {.num_epochs = 1, .shuffle = false});
    here.files().write_file("/in/b", "");
    here.files().write_file("/in/a", "");
    const names out = co_await all_of(p);
    REQUIRE((out == names{"/in/a", "/in/b"}));
  });
}

LEAT_TEST("string_input_producer: the consumer receives the error of an empty found list") {
  string_input_producer p(find_none, {.name = "names"});
  const end e = co_await end_of(p);
  CHECK(e.code == errc::invalid_argument);
  CHECK(contains(e.consumer, "producer 'names': list of found items is empty"));
  CHECK(e.coordinator == e.consumer);
}

LEAT_TEST("string_input_producer: the consumer receives the error of the search for the list") {
  string_input_producer p(fail_to_find);
  const end e = co_await end_of(p);
  CHECK(e.code == errc::permission_denied);
  CHECK(contains(e.consumer, "/secret"));
  CHECK(e.coordinator == e.consumer);
}

LEAT_TEST("string_input_producer: in a task group, without a coordinator") {
  string_input_producer good(find_two, {.num_epochs = 1});
  string_input_producer bad(find_none, {.num_epochs = 1});
  co_await good.runner().run();
  CHECK(good.queue().size() == 2);
  CHECK(co_await throws<leat::failure>(bad.runner().run()));
  CHECK(bad.queue().failure_cause());
}

// ----------------------------------------------------------------------------------- the stop

LEAT_TEST("string_input_producer: a stop ends a waiting push, and queued items drain") {
  string_input_producer p({"a", "b", "c"}, {.shuffle = false, .capacity = 2});
  leat::coordinator coord;
  p.start(coord);
  co_await leat::sleep_for(1s);
  CHECK(p.queue().statistics().waiting_pushes == 1);
  coord.request_stop();
  co_await coord.join();
  const names left = co_await items_of(p.queue());
  CHECK(left == names{"a", "b"});
}

LEAT_TEST("string_input_producer: a stop runs cancel_op instead of close_op") {
  int runs = 0;
  string_input_producer* made = nullptr;
  const auto cancel = [&]() -> task<> {
    ++runs;
    made->queue().close_and_cancel();
    co_return;
  };
  string_input_producer p({"a", "b"}, {.cancel_op = {.name = "my cancel", .run = cancel}});
  made = &p;
  leat::coordinator coord;
  p.start(coord);
  co_await leat::sleep_for(1s);
  coord.request_stop();
  co_await coord.join();
  CHECK(runs == 1);
  CHECK(p.queue().is_closed());
}

// ------------------------------------------------------------------------------- shared queues

TEST_CASE("string_input_producer: producers with one shared name need one capacity") {
  leat::queue_registry shared;
  string_input_producer a({"a"}, {.capacity = 32, .name = "names", .shared = &shared});
  string_input_producer b({"b"}, {.capacity = 32, .name = "names", .shared = &shared});
  CHECK(&a.queue() == &b.queue());
  const std::string said = refusal([&] {
    return string_input_producer({"c"}, {.capacity = 16, .name = "names", .shared = &shared})
        .items();
  });
  CHECK(contains(said, "capacity is 32, not 16"));
  CHECK(contains(said, "'names'"));
}

LEAT_TEST("string_input_producer: two producers fill a shared queue") {
  leat::queue_registry shared;
  string_input_producer a({"a"}, {.capacity = 2, .name = "names", .shared = &shared});
  string_input_producer b({"b"}, {.capacity = 2, .name = "names", .shared = &shared});
  const auto queue = shared.get<leat::fifo_queue<std::string>>({.capacity = 2, .name = "names"});
  leat::coordinator coord;
  a.start(coord);
  b.start(coord);
  int of_a = 0;
  int of_b = 0;
  for (int i = 0; i < 100; ++i) {
    const auto item = co_await queue->pop();
    ++(*item == "a" ? of_a : of_b);
  }
  coord.request_stop();
  co_await coord.join();
  CHECK(of_a > 10);
  CHECK(of_b > 10);
}

LEAT_TEST("string_input_producer: fails if another producer closes the shared queue early") {
  leat::queue_registry shared;
  string_input_producer a({"a"}, {.num_epochs = 1, .name = "names", .shared = &shared});
  string_input_producer b({"b"}, {.num_epochs = 1000, .name = "names", .shared = &shared});
  leat::coordinator coord;
  b.start(coord);
  co_await leat::sleep_for(1s);
  a.start(coord);
  std::string consumer;
  int items = 0;
  try {
    while (co_await b.queue().pop()) ++items;
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::aborted);
    consumer = e.what();
  }
  const std::string joined = co_await message_of<leat::failure>(coord.join());
  CHECK(items < 1001);
  CHECK(contains(consumer, "producer 'names': another user closed the shared queue"));
  CHECK(joined == consumer);
}

// ------------------------------------------------------------------------------------ fullness

LEAT_TEST("string_input_producer: reports the fullness of its queue") {
  string_input_producer p({"a", "b", "c", "d", "e", "f"}, {.num_epochs = 1});
  leat::coordinator coord;
  p.start(coord);
  co_await coord.join();
  CHECK(p.fullness() == leat::fullness{"input_producer/fraction_of_32_full", 0.1875F});
}

}  // namespace input_producer_test
