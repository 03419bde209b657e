// Complete pipelines from files to batches in simulated worlds.

#include <algorithm>

#include "input/filename_queue_reader_support.hpp"
#include "leat/codec/csv/csv_decoder.hpp"
#include "leat/input.hpp"
#include "pipeline/batching.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace whole_pipeline_test {

using batching::batches;
using batching::numbers;
using filename_queue_reader_test::world;
using leat::csv_column;
using leat::dtype;
using leat::tensor_batcher;
using leat::tensor_tuple;
using line_source = leat::filename_queue_reader<leat::line_reader>;
using element = std::optional<tensor_tuple>;

// Decodes a number and a text with column names.
const leat::csv_decoder& decoder() {
  static const leat::csv_decoder one(
      {csv_column::required(dtype::int64, "x"), csv_column::required(dtype::string, "text")});
  return one;
}

// Writes rows 0, 1, ... with `rows` rows in each file.
std::vector<std::string> write_files(world& w, int files, int rows) {
  std::vector<std::string> paths;
  for (int f = 0; f < files; ++f) {
    std::string text;
    for (int i = 0; i < rows; ++i) text += std::to_string(f * rows + i) + ",row\n";
    paths.push_back("/csv/" + std::to_string(f));
    w.files().write_file(paths.back(), text);
  }
  return paths;
}

// Decodes one line per call.
struct rows {
  std::shared_ptr<line_source> reader;

  task<element> operator()() {
    auto line = co_await reader->read();
    if (!line) co_return std::nullopt;
    co_return decoder().decode_one(line->value);
  }
};

template <class Queue>
rows read_rows(Queue& names) {
  return {std::make_shared<line_source>(names)};
}

leat::producer_options once() { return {.num_epochs = 1, .shuffle = false}; }

numbers sorted(numbers n) {
  std::sort(n.begin(), n.end());
  return n;
}

numbers values_of(const batches& all) {
  numbers x;
  for (const auto& batch : all) {
    const auto values = batch["x"].values<std::int64_t>();
    x.insert(x.end(), values.begin(), values.end());
  }
  return x;
}

TEST_CASE("pipeline: files, lines, columns, batches") {
  for (std::uint64_t seed = 1; seed <= leat_test::scaled_count(100); ++seed) {
    world w(seed);
    w.check_frames();
    w.run([](world& here) -> task<> {
      leat::string_input_producer names(write_files(here, 3, 4), once());
      tensor_batcher b(decoder().spec(), {.batch_size = 4});
      b.add(read_rows(names.queue()));
      leat::coordinator coord;
      names.start(coord);
      b.start(coord);
      const batches all = co_await batching::rest_of(b);
      co_await coord.join();
      CHECK(coord.live_tasks() == 0);
      CHECK(batching::rows_of(all) == std::vector<std::size_t>{4, 4, 4});
      for (const auto& batch : all) CHECK(batch["text"].strings()[3] == "row");
      CHECK(values_of(all) == batching::from_to(0, 12));
    });
    CHECK(w.files().open_files() == 0);
  }
}

TEST_CASE("pipeline: a missing file is an error") {
  for (const bool with_coordinator : {true, false}) {
    for (std::uint64_t seed = 1; seed <= leat_test::scaled_count(100); ++seed) {
      world w(seed);
      w.check_frames();
      w.run([with_coordinator](world& here) -> task<> {
        std::vector<std::string> paths = write_files(here, 3, 4);
        paths[1] = "/csv/gone";
        leat::fifo_queue<std::string> names(8, "names");
        for (const std::string& p : paths) co_await names.push(p);
        names.close();
        tensor_batcher b(decoder().spec(), {.batch_size = 2});
        b.add(read_rows(names));
        leat::coordinator coord;
        task_group group;
        if (with_coordinator) {
          b.start(coord);
        } else {
          b.start(group);
        }
        std::string said;
        std::size_t got = 0;
        try {
          while (const auto batch = co_await b.next()) got += batch->rows();
        } catch (const leat::failure& e) {
          CHECK(e.code() == errc::not_found);
          said = e.what();
        }
        CHECK(got == 4);
        CHECK(contains(said, "/csv/gone"));
        CHECK(b.queue().is_closed());
        const auto join = [&]() -> task<> {
          co_await coord.join();
          co_await group.join();
        };
        const std::string joined = co_await message_of<leat::failure>(join());
        CHECK(joined == said);
      });
      CHECK(w.files().open_files() == 0);
    }
  }
}

// Runs a producer and a batcher on another thread, and returns all batches.
template <class Batcher>
task<batches> batches_on(leat::scheduler& other, leat::string_input_producer& names, Batcher& b) {
  leat::coordinator coord;
  names.start(coord, other);
  b.start(coord, other);
  batches all = co_await batching::rest_of(b);
  co_await coord.join();
  co_return all;
}

// Runs a body in worlds of two threads. No file is open when they end.
void in_worlds(std::size_t count, task<> (*body)(world&)) {
  for (std::uint64_t seed = 1; seed <= leat_test::scaled_count(count); ++seed) {
    world w(seed, {.threads = 2});
    w.check_frames();
    w.run([body](world& here) -> task<> { co_await body(here); });
    CHECK(w.files().open_files() == 0);
  }
}

TEST_CASE("pipeline: a missing file stops the producer and all readers") {
  in_worlds(100, [](world& here) -> task<> {
    std::vector<std::string> paths = write_files(here, 30, 4);
    paths[1] = "/csv/gone";
    leat::producer_options few = once();
    few.capacity = 1;
    leat::string_input_producer names(std::move(paths), few);
    tensor_batcher b(decoder().spec(), {.batch_size = 2, .capacity = 4});
    for (std::uint64_t i = 0; i <= here.seed() % 3; ++i) b.add(read_rows(names.queue()));
    leat::coordinator coord;
    names.start(coord, here.thread(1));
    b.start(coord, here.thread(1));
    const std::string cause = co_await message_of<leat::failure>(batching::rest_of(b));
    CHECK(contains(cause, "/csv/gone"));
    CHECK(co_await message_of(coord.join(), errc::not_found) == cause);
    CHECK(coord.live_tasks() == 0);
    CHECK(names.queue().is_closed());
    CHECK(b.queue().is_closed());
  });
}

TEST_CASE("pipeline: a consumer that stops after one batch") {
  in_worlds(200, [](world& here) -> task<> {
    leat::producer_options for_ever = once();
    for_ever.num_epochs.reset();
    leat::string_input_producer names(write_files(here, 3, 40), for_ever);
    tensor_batcher b(decoder().spec(), {.batch_size = 4, .capacity = 8});
    const std::size_t readers = 1 + here.seed() % 4;
    for (std::size_t i = 0; i < readers; ++i) b.add(read_rows(names.queue()), {.tasks = 1});
    leat::coordinator coord;
    names.start(coord, here.thread(1));
    b.start(coord, here.thread(1));
    const auto batch = co_await b.next();
    CHECK(batch->rows() == 4);
    coord.request_stop();
    co_await coord.join();
    CHECK(coord.live_tasks() == 0);
    CHECK(names.queue().is_closed());
    CHECK(b.queue().is_closed());
  });
}

TEST_CASE("pipeline: more readers than files") {
  in_worlds(100, [](world& here) -> task<> {
    leat::string_input_producer names(write_files(here, 1, 30), once());
    tensor_batcher b(decoder().spec(), {.batch_size = 4, .capacity = 4});
    for (int i = 0; i < 4; ++i) b.add(read_rows(names.queue()));
    const batches all = co_await batches_on(here.thread(1), names, b);
    const numbers x = values_of(all);
    CHECK(x == batching::from_to(0, 30));
  });
}

TEST_CASE("pipeline: shuffles with several tasks on one reader") {
  in_worlds(100, [](world& here) -> task<> {
    leat::string_input_producer names(write_files(here, 4, 10), once());
    leat::tensor_shuffle_batcher b(
        decoder().spec(),
        {.batch_size = 7, .capacity = 16, .min_after_dequeue = 8, .seed = here.seed()});
    for (int i = 0; i < 2; ++i) b.add(read_rows(names.queue()));
    const batches all = co_await batches_on(here.thread(1), names, b);
    const numbers x = values_of(all);
    CHECK(sorted(x) == batching::from_to(0, 40));
  });
}

}  // namespace whole_pipeline_test
