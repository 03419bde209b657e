#include "leat/input/tensor_batcher.hpp"

#include <map>
#include <thread>

#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/input/range_input_producer.hpp"
#include "leat/queue.hpp"
#include "pipeline/batching.hpp"
#include "support/leat_test.hpp"

// Behavior of tensor batchers beyond the cases of TensorFlow's tests.

namespace tensor_batcher_test {

using namespace batching;
using leat::tensor_batcher;
using sizes = std::vector<std::size_t>;

LEAT_TEST("tensor_batcher: elements of several tasks enter in the order of their calls") {
  // Each call takes a different time.
  struct slow {
    std::int64_t next = 0;
    task<element> operator()() {
      const std::int64_t x = next++;
      if (x >= 50) co_return std::nullopt;
      co_await leat::sleep_for(std::chrono::milliseconds(x * 7919 % 13));
      co_return one(x);
    }
  };
  for (const std::size_t tasks : {1U, 2U, 8U}) {
    tensor_batcher b(number_spec(), {.batch_size = 7});
    b.add(slow(), {.tasks = tasks, .ordered = true});
    const batches all = co_await batches_of(b);
    CHECK(values_of(all) == from_to(0, 50));
  }
  tensor_batcher free(number_spec(), {.batch_size = 7});
  free.add(slow(), {.tasks = 8});
  const batches all = co_await batches_of(free);
  CHECK_FALSE(values_of(all) == from_to(0, 50));
  CHECK(counted(values_of(all)) == counted(from_to(0, 50)));
}

leat::async_generator<leat::tensor_tuple> numbers_below(std::int64_t limit) {
  for (std::int64_t i = 0; i < limit; ++i) {
    if (i % 5 == 0) co_await leat::sleep_for(1ms);
    co_yield one(i);
  }
}

LEAT_TEST("tensor_batcher: a generator is a source of elements") {
  tensor_batcher b(number_spec(), {.batch_size = 7});
  auto outside = numbers_below(20);
  b.add([&outside] { return outside.next(); });
  const batches all = co_await batches_of(b);
  CHECK(values_of(all) == from_to(0, 20));
  tensor_batcher owner(number_spec(), {.batch_size = 7});
  auto source = [inside = numbers_below(20)]() mutable { return inside.next(); };
  owner.add(std::move(source));
  const batches same = co_await batches_of(owner);
  CHECK(values_of(same) == from_to(0, 20));
}

LEAT_TEST("tensor_batcher: an error keeps its place in that order") {
  struct failing {
    std::int64_t next = 0;
    task<element> operator()() {
      const std::int64_t x = next++;
      if (x == 20) throw leat::failure(errc::data_loss, "record 20");
      co_await leat::sleep_for(std::chrono::milliseconds(5));
      co_return one(x);
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 6});
  b.add(failing(), {.tasks = 4, .ordered = true});
  leat::coordinator coord;
  b.start(coord);
  batches all;
  const auto read = [&]() -> task<> {
    while (auto batch = co_await b.next()) all.push_back(std::move(*batch));
  };
  CHECK(co_await own_message_of(read()) == "record 20");
  CHECK(values_of(all) == from_to(0, 20));
  CHECK_THROWS_AS(co_await coord.join(), leat::failure);
}

LEAT_TEST("tensor_batcher: an error whose turn does not come is kept") {
  struct failing {
    int calls = 0;
    task<element> operator()() {
      if (calls++ > 0) throw leat::failure(errc::data_loss, "second call");
      co_await leat::sleep_for(std::chrono::hours(1));
      co_return std::nullopt;
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 6});
  b.add(failing(), {.tasks = 2, .ordered = true});
  leat::coordinator coord;
  b.start(coord);
  co_await leat::sleep_for(std::chrono::seconds(1));
  coord.request_stop();
  co_await coord.join();
  CHECK(coord.secondary_errors().size() == 1);
}

LEAT_TEST("tensor_batcher: without a coordinator an error comes to the consumer too") {
  struct failing {
    task<element> operator()() {
      co_await leat::this_task::yield();
      throw leat::failure(errc::not_found, "/data/x is not there");
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 6});
  b.add(failing());
  b.add(count_to(8, one));
  task_group group;
  b.start(group);
  sizes got;
  const auto read = [&]() -> task<> {
    while (auto batch = co_await b.next()) got.push_back(batch->rows());
  };
  CHECK(co_await own_message_of(read()) == "/data/x is not there");
  CHECK(got == sizes{6, 2});  // the other source continued to its end
  CHECK(co_await own_message_of(group.join()) == "/data/x is not there");
}

LEAT_TEST("tensor_batcher: queued elements stay within max_size") {
  leat::memory_budget budget(200, "ram");
  tensor_batcher b(number_spec(), {.batch_size = 5, .capacity = 1000, .budget = &budget});
  b.add(count_to(200, one));
  const batches all = co_await batches_of(b);
  CHECK(values_of(all) == from_to(0, 200));
  CHECK(budget.statistics().peak <= 200);
  CHECK(budget.statistics().peak > 0);

  tensor_batcher small(number_spec(), {.batch_size = 1, .max_weight = 4});
  CHECK((co_await code_of(small.push(one(1))) == errc::resource_exhausted));
}

LEAT_TEST("tensor_batcher: keeps elements that cannot be batched") {
  tensor_batcher b(batch_spec({{.type = dtype::int64, .shape = {any, any}}}),
                   {.batch_size = 2, .dynamic_pad = true});
  const std::int64_t huge = std::int64_t{1} << 40;
  const tensor_tuple tall(tensor(dtype::int64, {huge, 0}));
  const tensor_tuple wide(tensor(dtype::int64, {0, huge}));
  CHECK(co_await b.push(tall));
  CHECK(co_await b.push(wide));
  b.close();
  for (int i = 0; i < 2; ++i) CHECK((co_await code_of(b.next()) == errc::invalid_argument));
}

TEST_CASE("tensor_batcher: accepts elements that threads push") {
  tensor_batcher b(number_and_text(), {.batch_size = 4, .capacity = 2});
  std::thread pushing([&] {
    CHECK(leat::block_on(b.push(pair(0, "a"))));
    const std::vector<std::string> texts(9, "b");
    CHECK(leat::block_on(b.push_many(tensor_tuple(
              vector_of(from_to(1, 10)), tensor::of({9}, std::span<const std::string>(texts))))) ==
          9);
    b.close();
  });
  batches all;
  while (auto batch = leat::block_on(b.next())) all.push_back(std::move(*batch));
  pushing.join();
  CHECK(rows_of(all) == sizes{4, 4, 2});
  CHECK(values_of(all) == from_to(0, 10));
  CHECK(refusal([&] { return leat::block_on(b.push(one(1))); }) != "");
}

TEST_CASE("tensor_batcher: wait_push and wait_next respect their limits") {
  tensor_batcher b(number_spec(), {.batch_size = 2, .capacity = 2});
  CHECK(leat::block_on(b.push(one(0)), 24h));
  CHECK_THROWS_AS(leat::block_on(b.next(), 1ms), leat::failure);
  std::size_t in = 9;
  try {
    leat::block_on(b.push_many(tensor_tuple(vector_of(from_to(1, 3)))), 1ms);
  } catch (const leat::partial_push_error& e) {
    in = e.count();
  }
  CHECK(in == 1);
  CHECK_THROWS_AS(leat::block_on(b.push(one(2)), 1ms), leat::failure);
  batches all;
  all.push_back(*leat::block_on(b.next(), 24h));
  CHECK(leat::block_on(b.push_many(tensor_tuple(vector_of(from_to(2, 4)))), 24h) == 2);
  all.push_back(*leat::block_on(b.next(), 24h));
  CHECK(values_of(all) == from_to(0, 4));
}

LEAT_TEST("tensor_batcher: a push to a closed queue adds nothing") {
  tensor_batcher b(number_spec(), {.batch_size = 4});
  b.close();
  CHECK_FALSE(co_await b.push(one(1)));
  const tensor_tuple two(vector_of({1, 2}));
  const tensor_tuple of_none(vector_of(numbers()));
  CHECK(co_await b.push_many(two) == 0);
  CHECK(co_await b.push_many(of_none) == 0);
  CHECK_FALSE(co_await b.next());
}

LEAT_TEST("tensor_batcher: batches elements of another queue") {
  leat::fifo_queue<tensor_tuple> elements(4);
  tensor_batcher b(number_spec(), {.batch_size = 3});
  b.add([&] { return elements.pop(); });
  leat::coordinator coord;
  b.start(coord);
  for (int i = 0; i < 4; ++i) CHECK(co_await elements.push(one(i)));
  elements.close();
  const batches all = co_await rest_of(b);
  co_await coord.join();
  CHECK(columns_of(all) == std::vector<numbers>{{0, 1, 2}, {3}});
}

LEAT_TEST("tensor_batcher: batches parsed Examples, one by one and all at once") {
  const leat::example_parser parser({{"label", leat::fixed_len_feature{.type = dtype::int64}},
                                     {"words", leat::var_len_feature{.type = dtype::string}}});
  std::vector<std::string> records;
  std::vector<leat::byte_view> views;
  for (std::int64_t i = 0; i < 5; ++i) {
    leat::example_builder example;
    example.add("label", {i});
    example.add("words", std::vector<std::string_view>(static_cast<std::size_t>(i % 3), "word"));
    records.push_back(example.serialize());
  }
  for (const std::string& r : records) views.push_back(leat::as_bytes(r));
  const tensor_tuple expected = parser.parse(views).take();

  const batch_spec spec({{.type = dtype::string, .shape = {any}, .name = "words", .sparse = true},
                         {.type = dtype::int64, .shape = {}, .name = "label"}});
  tensor_batcher b(spec, {.batch_size = 5});
  for (const leat::byte_view& record : views) {
    CHECK(co_await b.push(parser.parse_one(record).take()));
  }
  CHECK(co_await b.push_many(expected) == 5);
  for (int i = 0; i < 2; ++i) {
    const auto batch = co_await b.next();
    CHECK(batch->components() == expected);
  }
}

TEST_CASE("tensor_batcher: sources and consumers on several threads") {
  leat::runtime threads({.threads = 3});
  leat::tensor_shuffle_batcher b(
      number_and_text(), {.batch_size = 16, .capacity = 64, .min_after_dequeue = 32, .seed = 1});
  auto make = [](std::int64_t x) { return pair(x, std::to_string(x)); };
  for (std::size_t i = 0; i < 3; ++i) {
    leat::source_options how;
    how.tasks = 2;
    how.ordered = i == 1;
    how.on = &threads.get_scheduler(i);
    b.add(count_to(500, make), how);
  }
  std::vector<batches> got(3);
  const auto consume = [](leat::tensor_shuffle_batcher& from, batches& all) -> task<> {
    all = co_await rest_of(from);
  };
  const auto run = [&]() -> task<> {
    leat::coordinator coord;
    b.start(coord);
    task_group consumers;
    for (std::size_t i = 0; i < 3; ++i) {
      consumers.spawn_on(threads.get_scheduler(i), consume(b, got[i]));
    }
    co_await consumers.join();
    co_await coord.join();
  };
  threads.block_on(run());
  std::map<std::int64_t, int> seen;
  for (const batches& all : got) {
    for (const column_batch& batch : all) {
      for (std::size_t r = 0; r < batch.rows(); ++r) {
        const std::int64_t x = batch[0].values<std::int64_t>()[r];
        CHECK(batch[1].strings()[r] == std::to_string(x));
        ++seen[x];
      }
    }
  }
  CHECK(seen.size() == 500);
  for (const auto& [x, times] : seen) CHECK(times == 3);
}

LEAT_TEST("tensor_batcher: accepts a move-only source") {
  struct owning {
    std::unique_ptr<std::int64_t> next;
    task<element> operator()() {
      if (*next == 3) co_return std::nullopt;
      co_return one((*next)++);
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 3});
  b.add(owning{std::make_unique<std::int64_t>(0)});
  const batches all = co_await batches_of(b);
  CHECK(values_of(all) == from_to(0, 3));
}

// Returns the message of next() after its timeout.
task<std::string> complaint_of(tensor_batcher& b) {
  co_return co_await own_message_of(b.next(), errc::deadline_exceeded);
}

LEAT_TEST("tensor_batcher: fails instead of waiting forever if it has no source") {
  tensor_batcher b(number_spec(), {.batch_size = 4, .name = "samples", .patience = 5s});
  const std::string hungry =
      "batcher 'samples': no batch for 5 s, the queue has 0 of the 4 required elements: "
      "no source was added; call add(), or push elements and call close()";
  CHECK(co_await complaint_of(b) == hungry);
  for (std::int64_t i = 0; i < 3; ++i) (void)co_await b.push(one(i));
  CHECK(contains(co_await complaint_of(b), "3 of the 4 required elements"));
  // The timeouts removed no element, and the batcher continues.
  (void)co_await b.push(one(3));
  b.close();
  CHECK(values_of(co_await rest_of(b)) == from_to(0, 4));
}

LEAT_TEST("tensor_batcher: patience reports sources that were not started or are slow") {
  struct slow {
    task<element> operator()() {
      co_await leat::sleep_for(100s);
      co_return std::nullopt;
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 4, .patience = 5s});
  b.add(slow());
  CHECK(contains(co_await complaint_of(b), "start() was never called"));
  leat::coordinator coord;
  b.start(coord);
  CHECK(contains(co_await complaint_of(b), "sources have not delivered enough"));
  coord.request_stop();
  co_await coord.join();
}

LEAT_TEST("tensor_batcher: patience names a producer that was never started") {
  struct source {
    leat::range_input_producer& from;
    task<element> operator()() {
      const auto number = co_await from.queue().pop();
      if (!number) co_return std::nullopt;
      co_return one(*number);
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 4, .patience = 5s});
  leat::range_input_producer count(4, {.num_epochs = 1, .shuffle = false, .name = "count"});
  leat::range_input_producer started(4, {.name = "others"});
  b.add(source{count});
  leat::coordinator coord;
  b.start(coord);
  started.start(coord);
  CHECK(contains(co_await complaint_of(b),
                 "sources have not delivered enough; "
                 "call start(coordinator) of producer 'count'"));
  count.start(coord);
  CHECK(values_of(co_await rest_of(b)) == from_to(0, 4));
  coord.request_stop();
  co_await coord.join();
}

LEAT_TEST("tensor_batcher: the deadline of a source is not its patience") {
  struct late {
    task<element> operator()() {
      throw leat::failure(errc::deadline_exceeded, "the source is late");
      co_return std::nullopt;
    }
  };
  tensor_batcher b(number_spec(), {.batch_size = 4, .patience = 5s});
  b.add(late());
  task_group group;
  b.start(group);
  CHECK(co_await complaint_of(b) == "the source is late");
  CHECK(co_await own_message_of(group.join()) == "the source is late");
}

TEST_CASE("tensor_batcher: a patience of 0 is refused") {
  CHECK_FAILS(errc::invalid_argument, "batcher 'b': patience must be above 0",
              tensor_batcher(number_spec(), {.batch_size = 4, .name = "b", .patience = 0s}));
}

}  // namespace tensor_batcher_test
