// The turns of other tasks while stages consume input that is in memory and yield few elements.

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "pipeline/resuming.hpp"
#include "pipeline/stopping.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"
#include "support/turns.hpp"

namespace stage_turns_test {

using leat_test::read_until_stopped;
using leat_test::ready_task;
using leat_test::slow_call;

constexpr std::size_t lines = 100'000;

// A file in the page cache, which a reader delivers in blocks of a few lines, or in one block.
class cached_lines {
 public:
  explicit cached_lines(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += "line\n";
    dir_.write("lines", text);
  }
  [[nodiscard]] auto in_small_blocks() const { return read(64); }
  [[nodiscard]] auto in_one_block() const { return read(std::size_t{1} << 20); }

 private:
  [[nodiscard]] leat::pipeline<leat::line_batch> read(std::size_t chunk_size) const {
    return leat::read_files<leat::line_reader>(
        {.files = {dir_ / "lines"}, .reader = {.read = {.chunk_size = chunk_size}}});
  }

  const temp_dir dir_;
};

// The runs of another task between the first and the last element that pass a stage.
class runs_beside {
 public:
  explicit runs_beside(const ready_task& other) : other_(other) {}
  std::string operator()(std::string_view line) {
    if (elements_++ == 0) first_ = other_.runs();
    last_ = other_.runs();
    return std::string(line);
  }
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  [[nodiscard]] std::size_t count() const noexcept { return last_ - first_; }

 private:
  const ready_task& other_;
  std::size_t elements_ = 0;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

// Reads all of a pipeline, which `declare` makes of a function that each input element passes, and
// returns how often another task ran meanwhile.
template <class Declare>
std::size_t runs_during(Declare declare) {
  ready_task other;
  runs_beside seen(other);
  auto p = declare([&seen](std::string_view line) { return seen(line); });
  other.run_during([&p]() -> task<> { return p.for_each([](const auto&) {}); });
  CHECK(seen.elements() == lines);
  return seen.count();
}

TEST_CASE("pipeline: other tasks run while a stage yields nothing", "[pipeline]") {
  const cached_lines file(lines);
  // A stage that drops its elements.
  const auto dropped = [](auto pass) {
    return [pass](std::string_view line) {
      pass(line);
      return std::optional<int>();
    };
  };
  CHECK(runs_during([&](auto pass) { return file.in_small_blocks().map("none", dropped(pass)); }) >=
        20);
  CHECK(runs_during([&](auto pass) {
          return file.in_small_blocks().map("none", dropped(pass), {.workers = 2});
        }) >= 20);
  CHECK(runs_during([&](auto pass) {
          return file.in_small_blocks().map("none", dropped(pass)).prefetch(2);
        }) >= 20);
  CHECK(runs_during([&](auto pass) {
          return file.in_small_blocks().flat_map("none", [pass](std::string_view line) {
            pass(line);
            return std::vector<int>();
          });
        }) >= 20);
}

TEST_CASE("pipeline: other tasks run while a stage collects its input", "[pipeline]") {
  const cached_lines file(lines);
  CHECK(runs_during([&](auto pass) {
          return file.in_small_blocks().map("text", pass).batch({.batch_size = lines});
        }) >= 20);
  CHECK(runs_during([&](auto pass) {
          return file.in_small_blocks().map("text", pass).shuffle({.capacity = lines, .seed = 1});
        }) >= 20);
}

// The buffer delivers blocks of 64 lines.
TEST_CASE("pipeline: other tasks run while a shuffle buffer is emptied", "[pipeline]") {
  const cached_lines file(lines);
  CHECK(runs_during([&](auto pass) {
          return file.in_one_block()
              .shuffle({.capacity = lines, .seed = 1})
              .map("text", pass)
              .batch({.batch_size = lines});
        }) >= 5);
}

TEST_CASE("pipeline: other tasks run while the items of a queue are dropped", "[pipeline]") {
  leat::fifo_queue<std::string> queue(lines, "lines");
  for (std::size_t i = 0; i < lines; ++i) static_cast<void>(queue.try_push("line"));
  queue.close();
  CHECK(runs_during([&](auto pass) {
          return leat::read_queue(queue).map("none", [pass](const std::string& line) {
            pass(line);
            return std::optional<int>();
          });
        }) >= 5);
}

TEST_CASE("pipeline: timers are served while a function computes for the elements of a block",
          "[pipeline]") {
  constexpr std::size_t count = 60;  // ms
  const cached_lines file(count);
  for (const std::size_t workers : {std::size_t{0}, std::size_t{2}}) {
    CAPTURE(workers);
    slow_call call;
    auto p = file.in_one_block().map("none",
                                     [&call](std::string_view) {
                                       call();
                                       return std::optional<int>();
                                     },
                                     {.workers = workers});
    leat::block_on(p.for_each([](int) {}));
    CHECK(call.calls() == count);
    CHECK(call.turns() >= 5);
  }
}

TEST_CASE("pipeline: a stop ends a stage that yields nothing", "[pipeline]") {
  const temp_dir dir;
  dir.write("line", "line\n");
  std::size_t calls = 0;
  auto p = leat::read_files<leat::line_reader>({.files = {dir / "line"}, .num_epochs = {}})
               .map("none", [&calls](std::string_view) {
                 ++calls;
                 return std::optional<int>();
               });
  CHECK(read_until_stopped(p, [&](std::size_t) { return calls >= 1000; }) == 0);
}

TEST_CASE("pipeline: a stop ends a function within a block, and the pipeline resumes",
          "[pipeline]") {
  constexpr std::size_t count = 100;  // ms
  const cached_lines file(count);
  slow_call call;
  const auto declared = [&] {
    return file.in_one_block().map("text", [&call](std::string_view line) {
      call();
      return std::string(line);
    });
  };
  auto p = declared();
  const std::size_t read = read_until_stopped(p, [&](std::size_t) { return call.calls() > 0; });
  CHECK(call.calls() < count);
  CHECK(read + leat_test::elements_after(declared(), p.save()).size() == count);
}

}  // namespace stage_turns_test
