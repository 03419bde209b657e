#include "leat/pipeline/element/detail/memory_use.hpp"

#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/stage/detail/prefetch_throttle.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace memory_use_test {

using leat::detail::memory_use;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST_CASE("memory_use: accepts bytes up to its limit", "[pipeline]") {
  memory_use memory(100, "p");
  CHECK(memory.has_space(100));
  memory.add(60);
  CHECK(memory.has_space(40));
  CHECK_FALSE(memory.has_space(41));
  memory.add(60);  // the first block of a stage is always allowed
  CHECK_FALSE(memory.has_space(0));
  memory.add(-120);
  CHECK(memory.has_space(100));
}

TEST_CASE("memory_use: a rejected requirement no longer counts", "[pipeline]") {
  memory_use memory(100, "p");
  memory.require("a", 40);
  CHECK(contains(refusal([&] { memory.require("b", 61); }, errc::resource_exhausted),
                 "need at least 101 ('a' 40, 'b' 61)"));
  memory.require("c", 60);
  CHECK(contains(refusal([&] { memory.require("a", 41); }, errc::resource_exhausted),
                 "need at least 101 ('a' 41, 'c' 60)"));
  memory.require("a", 10);
}

TEST_CASE("memory_use: an unbounded requirement exceeds every limit", "[pipeline]") {
  memory_use memory(100, "p");
  memory.require("a", 1);
  CHECK(contains(refusal([&] { memory.require("b", SIZE_MAX); }, errc::resource_exhausted),
                 "need at least " + std::to_string(SIZE_MAX)));
}

auto records() {
  leat::file_source<leat::tfrecord_reader> source;
  source.files = {"/none"};
  return leat::read_files(std::move(source), {.memory_budget = 16 * mebibyte});
}

TEST_CASE("memory_budget: a rejected buffer leaves memory for a smaller one", "[pipeline]") {
  auto p = records();
  for (const std::size_t capacity : {std::size_t{1} << 24, SIZE_MAX / 16 + 2, SIZE_MAX}) {
    CHECK(contains(refusal([&] { static_cast<void>(std::move(p).shuffle({.capacity = capacity})); },
                           errc::resource_exhausted),
                   "'shuffle' "));
  }
  CHECK_NOTHROW(static_cast<void>(std::move(p).shuffle({.capacity = 10})));
}

TEST_CASE("prefetch_throttle: always admits one block, whichever side is faster", "[pipeline]") {
  memory_use memory(150, "p");
  leat::detail::prefetch_throttle ahead("map", true);
  ahead.begin(memory);
  const auto pass = [&](std::size_t in, std::size_t out) {
    ahead.leave(ahead.change(ahead.enter(in), in, out));
  };
  pass(10, 100);
  pass(100, 10);  // never 200 bytes at a time
  CHECK(memory.held() == 0);
  CHECK(contains(refusal([&] { pass(100, 51); }, errc::resource_exhausted), "'map' 151"));
}

TEST_CASE("memory_budget: elements count with nested memory of any depth", "[pipeline]") {
  using leat::detail::memory_of;
  using list = std::vector<std::string>;
  CHECK(memory_of(std::vector<int>(3)) == 3 * sizeof(int));
  CHECK(memory_of(list{std::string(800, 'x'), ""}) == 2 * sizeof(std::string) + 900);
  CHECK(memory_of(std::vector<std::vector<double>>{std::vector<double>(100)}) ==
        sizeof(std::vector<double>) + 900);
  const std::size_t strings = 2 * sizeof(std::string) + 1000;
  CHECK(memory_of(std::vector<list>{list(2, std::string(500, 'x'))}) ==
        sizeof(list) + strings + strings / 8);
}

constexpr std::size_t count = 2'000;

task<> write_records(std::string path) {
  auto writer = co_await leat::tfrecord_writer::open(std::move(path));
  const std::string record(2'000, 'x');
  for (std::size_t i = 0; i < count; ++i) co_await writer.write(leat::as_bytes(record));
  co_await writer.close();
}

// 2000 records of 2 kB, with a budget for about 900 of them and their reader.
auto large_records(const temp_dir& dir, std::optional<std::size_t> budget = 3 * mebibyte) {
  leat::file_source<leat::tfrecord_reader> source;
  source.files = {dir / "a"};
  source.reader.read.chunk_size = 65'536;
  return leat::read_files(std::move(source), {.memory_budget = budget});
}

std::string text(leat::byte_view record) { return std::string(leat::as_text(record)); }

template <class Pipeline>
task<> read_all(Pipeline& p) {
  for (;;) {
    const auto element = co_await p.next();
    if (!element) break;
  }
}

// Returns the message of the error with which a pipeline ends, before it has read all records.
template <class Pipeline>
std::string end_of(Pipeline p) {
  std::string what = refusal([&] { leat::block_on(read_all(p)); }, errc::resource_exhausted);
  CHECK(p.stages()[0]->records() < count);
  return what;
}

TEST_CASE("memory_budget: rejects a buffer as soon as it is too large", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_records(dir / "a"));
  CHECK(contains(end_of(large_records(dir).shuffle({.capacity = count}).batch({.batch_size = 1})),
                 "'shuffle' "));
  CHECK(contains(end_of(large_records(dir).map("text", text).shuffle({.capacity = count})),
                 "'shuffle' "));
  auto fits = large_records(dir).map("text", text).shuffle({.capacity = 200});
  CHECK_NOTHROW(leat::block_on(read_all(fits)));
}

TEST_CASE("memory_budget: rejects a batch as soon as it is too large", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_records(dir / "a"));
  CHECK(contains(end_of(large_records(dir).batch({.batch_size = count})), "'batch' "));
  CHECK(contains(end_of(large_records(dir).map("text", text).batch({.batch_size = count})),
                 "'batch' "));
  auto fits = large_records(dir).map("text", text).batch({.batch_size = 200});
  CHECK_NOTHROW(leat::block_on(read_all(fits)));
}

TEST_CASE("memory_budget: rejects a restored buffer that is too large", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_records(dir / "a"));
  const auto declared = [&](std::optional<std::size_t> budget) {
    return large_records(dir, budget).map("text", text).shuffle({.capacity = count, .seed = 1});
  };
  const auto state = [&]() -> task<std::string> {
    auto p = declared(std::nullopt);
    for (int i = 0; i < 100; ++i) static_cast<void>(co_await p.next());  // the second block
    co_await p.stop();
    co_return p.save();
  };
  auto p = declared(3 * mebibyte);
  const auto restore = [&] { leat::block_on(p.restore(leat::block_on(state()))); };
  CHECK(contains(refusal(restore, errc::resource_exhausted), "'shuffle' "));
}

struct of_unknown_size {
  [[nodiscard]] std::size_t bytes() const { throw std::runtime_error("nobody knows"); }
};

TEST_CASE("pipeline: with a memory budget, an element of unknown size is an error", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_records(dir / "a"));
  for (const std::size_t workers : {std::size_t{0}, std::size_t{1}}) {
    auto p = large_records(dir)
                 .map("of", [](leat::byte_view) { return of_unknown_size(); }, {.workers = workers})
                 .prefetch(1);
    CHECK_THROWS_AS(leat::block_on(read_all(p)), std::runtime_error);
  }
}

}  // namespace memory_use_test
