// The end of a pipeline with a limited number of epochs: a
// producer of names, readers that share an example queue, and a trainer.

#include <map>

#include "leat/input.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

namespace clean_shutdown_test {

using leat::sim::world;
using names = std::vector<std::string>;
using lines = leat::filename_queue_reader<leat::line_reader>;

constexpr std::size_t minimum = 5;  // examples that stay in the queue while it is open

task<> join(leat::coordinator& coord) { co_await coord.join(); }

struct shape_of_it {
  std::size_t files;
  std::size_t readers;
  std::int64_t epochs = 1;
};

// The objects that the stages share. The examples are lines.
class input {
 public:
  input(world& w, const shape_of_it& shape) : world_(w) {
    for (std::size_t f = 0; f < shape.files; ++f) {
      std::string text;
      for (std::uint64_t i = 0, n = w.random().uniform_below(8); i < n; ++i) {
        const std::string line = std::to_string(f) + "." + std::to_string(i);
        text += line + "\n";
        expected[line] = shape.epochs;
      }
      paths.push_back("/in/" + std::to_string(f));
      w.files().write_file(paths.back(), text);
    }
    producer = std::make_unique<leat::string_input_producer>(
        paths, leat::producer_options{
                   .num_epochs = shape.epochs,
                   .seed = w.random()(),
                   .capacity = 1 + static_cast<std::size_t>(w.random().uniform_below(4))});
    for (std::size_t i = 0; i < shape.readers; ++i) {
      readers.push_back(std::make_unique<lines>(producer->queue()));
      runner.add([this, i] { return read_one(*readers[i]); }, "reader " + std::to_string(i),
                 &w.thread(i % w.threads()));
    }
    w.add_invariants(producer->queue());
    w.add_invariants(examples);
  }
  ~input() { world_.clear_invariants(); }

  leat::queue_runner_handle start(leat::coordinator& coord) {
    producer->start(coord, world_.thread(world_.threads() - 1));
    return runner.start(coord);
  }

  // Pops examples until the queue ends.
  task<> train() {
    while (auto line = co_await examples.pop()) ++trained[*line];
  }

  names paths;
  std::map<std::string, std::int64_t> expected;
  std::map<std::string, std::int64_t> trained;
  std::unique_ptr<leat::string_input_producer> producer;
  leat::random_shuffle_queue<std::string> examples{
      {.capacity = 12, .min_after_dequeue = minimum, .seed = 1, .name = "examples"}};
  std::vector<std::unique_ptr<lines>> readers;
  leat::queue_runner runner{examples};

 private:
  task<bool> read_one(lines& reader) {
    auto record = co_await reader.read();
    if (!record) co_return false;
    co_return co_await examples.push(std::move(record->value));
  }

  world& world_;
};

// Runs `body` with several seeds and 1 to 16 readers.
template <class Body>
void under_seeds(std::uint64_t seeds, Body body) {
  for (std::size_t readers = 1; readers <= 16; ++readers) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      world w(seed * 16 + readers, {.threads = 1 + seed % 3});
      w.check_frames();
      w.run([&](world& here) -> task<> { co_await body(here, readers); });
    }
  }
}

TEST_CASE("clean shutdown: limited epochs end by themselves after every line of each epoch") {
  under_seeds(20, [](world& w, std::size_t readers) -> task<> {
    const shape_of_it shape{1 + static_cast<std::size_t>(w.random().uniform_below(5)), readers, 3};
    input in(w, shape);
    leat::coordinator coord;
    const leat::queue_runner_handle handle = in.start(coord);
    co_await in.train();  // a normal end, not an error
    REQUIRE((in.trained == in.expected));
    co_await handle.join();  // the last reader ends after the trainer
    REQUIRE(handle.running_producers() == 0);
    REQUIRE_FALSE(coord.should_stop());
    co_await coord.join();
    REQUIRE(in.producer->queue().is_closed());
    REQUIRE(in.producer->queue().size() == 0);
    REQUIRE_FALSE(in.producer->queue().failure_cause());
    REQUIRE_FALSE(in.examples.failure_cause());
    REQUIRE(coord.secondary_errors().empty());
  });
}

// The trainer starts only after the readers have ended. The queued items remain and drain below the
// minimum.
TEST_CASE("clean shutdown: queued items remain after the end and drain") {
  world w(3);
  w.run([](world& here) -> task<> {
    for (std::size_t i = 0; i < 3; ++i) {
      here.files().write_file("/" + std::to_string(i), "a\nb\n");
    }
    leat::coordinator coord;
    leat::string_input_producer producer(names{"/0", "/1", "/2"}, {.num_epochs = 1});
    leat::random_shuffle_queue<std::string> examples(
        {.capacity = 12, .min_after_dequeue = 10, .seed = 1});
    leat::queue_runner runner(examples);
    lines reader(producer.queue());
    runner.add([&]() -> task<bool> {
      auto record = co_await reader.read();
      if (!record) co_return false;
      co_return co_await examples.push(std::move(record->value));
    });
    producer.start(coord);
    runner.start(coord);
    co_await coord.join();
    CHECK(producer.queue().is_closed());
    CHECK(examples.is_closed());
    CHECK(examples.size() == 6);
    int left = 0;
    while (co_await examples.pop()) ++left;
    CHECK(left == 6);
  });
}

TEST_CASE("clean shutdown: three of four readers of one file end and close nothing") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed);
    w.run([](world& here) -> task<> {
      input in(here, {1, 4});
      std::string text;
      for (int i = 0; i < 30; ++i) text += "0." + std::to_string(i) + "\n";
      here.files().write_file("/in/0", text);
      in.expected.clear();
      for (int i = 0; i < 30; ++i) in.expected["0." + std::to_string(i)] = 1;
      leat::coordinator coord;
      const leat::queue_runner_handle handle = in.start(coord);
      co_await leat::sleep_for(1h);  // the reader with the file waits for capacity
      REQUIRE(handle.running_producers() == 1);
      REQUIRE_FALSE(in.examples.is_closed());
      REQUIRE(in.examples.size() == 12);
      co_await in.train();
      REQUIRE((in.trained == in.expected));
      REQUIRE(handle.running_producers() == 0);
      co_await coord.join();
    });
  }
}

TEST_CASE("clean shutdown: any other error stops all tasks and reaches the trainer") {
  under_seeds(10, [](world& w, std::size_t readers) -> task<> {
    const shape_of_it shape{3, readers, 3};
    input in(w, shape);
    in.producer->queue().fail(
        std::make_exception_ptr(leat::failure(errc::permission_denied, "/in is not for you")));
    leat::coordinator coord;
    const leat::queue_runner_handle handle = in.start(coord);
    const std::string trainer = (co_await outcome_of(in.train())).text;
    const std::string joined = (co_await outcome_of(join(coord))).text;
    REQUIRE(contains(trainer, "/in is not for you"));
    REQUIRE(joined == trainer);
    REQUIRE(handle.running_producers() == 0);
    REQUIRE(in.trained.empty());
  });
}

TEST_CASE("clean shutdown: a missing file stops all tasks") {
  under_seeds(10, [](world& w, std::size_t readers) -> task<> {
    const shape_of_it shape{3, readers, 3};
    input in(w, shape);
    leat::string_input_producer bad(names{"/missing"}, {.num_epochs = 1});
    lines one_more(bad.queue());
    in.runner.add([&]() -> task<bool> { co_return (co_await one_more.read()).has_value(); });
    leat::coordinator coord;
    bad.start(coord);
    const leat::queue_runner_handle handle = in.start(coord);
    const std::string trainer = (co_await outcome_of(in.train())).text;
    const leat_test::outcome joined = co_await outcome_of(join(coord));
    REQUIRE(joined.code == errc::not_found);
    REQUIRE(contains(joined.text, "/missing"));
    REQUIRE(trainer == joined.text);
    REQUIRE(handle.running_producers() == 0);
    for (const auto& [line, count] : in.trained) REQUIRE(count <= in.expected[line]);
  });
}

TEST_CASE("clean shutdown: a stop cancels waiting pushes, and queued items can be popped") {
  under_seeds(10, [](world& w, std::size_t readers) -> task<> {
    const shape_of_it shape{4, readers, 1000};
    input in(w, shape);
    leat::coordinator coord;
    const leat::queue_runner_handle handle = in.start(coord);
    co_await leat::sleep_for(1us * w.random().uniform_below(2000));
    coord.request_stop();
    co_await coord.join();
    REQUIRE(handle.running_producers() == 0);
    REQUIRE(in.producer->queue().is_closed());
    REQUIRE(in.examples.is_closed());
    const std::size_t left = in.examples.size();
    co_await in.train();
    std::int64_t trained = 0;
    for (const auto& [line, count] : in.trained) trained += count;
    REQUIRE(static_cast<std::size_t>(trained) == left);
  });
}

// By default, only out_of_range means the end of the input.
TEST_CASE("clean shutdown: a foreign `cancelled` is not the end of the input") {
  world w(1);
  w.run([](world&) -> task<> {
    leat::fifo_queue<int> queue(1);
    leat::queue_runner runner(queue);
    runner.add([]() -> task<bool> {
      co_await leat::sleep_for(1s);
      throw leat::failure(errc::cancelled, "somebody has closed what it pushes into");
    });
    leat::coordinator coord;
    runner.start(coord);
    const std::error_code consumer = co_await code_of(queue.pop());
    REQUIRE((consumer == errc::cancelled));
    const bool failed = co_await throws<leat::failure>(coord.join());
    REQUIRE(failed);
  });
}

}  // namespace clean_shutdown_test
