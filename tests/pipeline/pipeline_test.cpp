// Pipelines: rejected options, the elements, and their order.

#include "leat/pipeline/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/resuming.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace pipeline_test {

using leat::line_reader;
using leat::ordering;
using namespace leat_test;

// Files a, b, c ... with the given numbers of lines: "a0", "a1" ...
texts make_files(const temp_dir& dir, const std::vector<int>& sizes) {
  texts all;
  for (std::size_t f = 0; f < sizes.size(); ++f) {
    const auto name = static_cast<char>('a' + f);
    std::string text;
    for (int i = 0; i < sizes[f]; ++i) text += name + std::to_string(i) + '\n';
    all.push_back(dir.write(std::string(1, name), text));
  }
  return all;
}

texts read(leat::file_source<line_reader> source) {
  return elements_of(lines_of(std::move(source)));
}

TEST_CASE("pipeline: reads files consecutively, in order", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {3, 0, 2});
  CHECK(read({.files = {dir / "*"}}) == texts{"a0", "a1", "a2", "c0", "c1"});
  CHECK(read({.files = files, .num_epochs = 2}).size() == 10);
}

TEST_CASE("pipeline: interleaved files take turns of a block", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {5, 2, 4, 1});
  CHECK(read({.files = files, .interleave = 2, .block_length = 2}) ==
        texts{"a0", "a1", "b0", "b1", "a2", "a3", "c0", "c1", "a4", "d0", "c2", "c3"});
  // The chunk size of the readers does not change the order.
  for (const std::size_t chunk : std::vector<std::size_t>{1, 2, 3, 4, 7}) {
    CHECK(read({.files = files,
                .interleave = 3,
                .block_length = 2,
                .reader = {.read = {.chunk_size = chunk}}}) ==
          read({.files = files, .interleave = 3, .block_length = 2}));
  }
}

TEST_CASE("pipeline: an epoch ends before the next begins, each in its own order", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, std::vector<int>(8, 1));
  const texts all =
      read({.files = files, .num_epochs = 5, .shuffle = true, .seed = 1, .interleave = 3});
  REQUIRE(all.size() == 40);
  std::map<texts, int> orders;
  for (auto at = all.begin(); at != all.end(); at += 8) {
    texts epoch(at, at + 8);
    ++orders[epoch];
    std::sort(epoch.begin(), epoch.end());
    CHECK(epoch == texts{"a0", "b0", "c0", "d0", "e0", "f0", "g0", "h0"});
  }
  CHECK(orders.size() == 5);
}

TEST_CASE("pipeline: ranks share the files of each epoch", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, std::vector<int>(7, 2));
  texts all;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const texts own = read({.files = files,
                            .num_epochs = 2,
                            .shuffle = true,
                            .seed = 4,
                            .world = {.rank = rank, .world_size = 3}});
    all.insert(all.end(), own.begin(), own.end());
  }
  CHECK(sorted(all) == sorted(read({.files = files, .num_epochs = 2})));
}

TEST_CASE("pipeline: reads all records in a global shuffle", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 300));
  const auto epoch = [&](std::uint64_t seed) {
    return elements_of(leat::read_indexed({dir / "records???"}, {.num_epochs = 1, .seed = seed})
                           .map("text", text_of_record));
  };
  texts once = epoch(1);
  CHECK(once == epoch(1));
  CHECK(once != epoch(2));
  once = sorted(once);
  CHECK(std::unique(once.begin(), once.end()) == once.end());
  CHECK(once.size() == 300);
}

TEST_CASE("pipeline: excludes index files that a pattern matches", "[pipeline]") {
  const temp_dir dir;
  for (const char* name : {"train-0", "train-1"}) dir.write(name, framed({"a", "b"}));
  for (int i = 0; i < 2; ++i) {  // the first run creates the indexes
    CHECK(elements_of(leat::read_indexed({dir / "train-*"}, {.num_epochs = 1, .shuffle = false})
                          .map("text", text_of_record)) == texts{"a", "b", "a", "b"});
  }
  CHECK(elements_of(leat::read_files<leat::tfrecord_reader>({.files = {dir / "train-*"}})
                        .map("text", text_of_record))
            .size() == 4);
}

TEST_CASE("pipeline: ends if repeated epochs have no records", "[pipeline]") {
  const temp_dir dir;
  CHECK(read({.files = make_files(dir, {0, 0}), .num_epochs = std::nullopt}).empty());
  // Of two ranks, the one that begins with the empty file reads the other file later.
  const texts files = make_files(dir, {0, 1});
  std::size_t records = 0;
  for (const std::uint64_t rank : std::vector<std::uint64_t>{0, 1}) {
    records += read({.files = files,
                     .num_epochs = 20,
                     .shuffle = true,
                     .seed = 3,
                     .world = {.rank = rank, .world_size = 2}})
                   .size();
  }
  CHECK(records == 20);
}

TEST_CASE("pipeline: order does not depend on the number of workers", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {300, 200, 100});
  leat::runtime rt({.threads = 3});
  const auto run = [&](std::size_t workers, ordering order) {
    auto p = leat::read_files<line_reader>({.files = files, .interleave = 2, .block_length = 5},
                                           {.order = order, .workers = leat::schedulers_of(rt)})
                 .map("odd",
                      [](std::string_view line) -> std::optional<std::string> {
                        if (line.back() % 2 == 0) return std::nullopt;
                        return std::string(line);
                      },
                      {.workers = workers})
                 .shuffle({.capacity = 50, .seed = 7})
                 .prefetch(2);
    return rt.block_on(read_all(p));
  };
  const texts expected = run(0, ordering::deterministic);
  CHECK(expected.size() == 300);
  for (const std::size_t workers : std::vector<std::size_t>{1, 2, 8}) {
    CHECK(run(workers, ordering::deterministic) == expected);
    CHECK(sorted(run(workers, ordering::free)) == sorted(expected));
  }
}

TEST_CASE("pipeline: stages before a prefetch run on a worker if on_worker is set", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {300, 200, 100});
  leat::runtime rt({.threads = 2});
  const auto run = [&](bool on_worker, std::vector<leat::scheduler*> workers) {
    const auto sched = std::this_thread::get_id();
    std::atomic<int> elsewhere = 0;
    auto p = leat::read_files<line_reader>({.files = files, .interleave = 2, .block_length = 5},
                                           {.workers = std::move(workers)})
                 .map("text",
                      [&](std::string_view line) {
                        if (std::this_thread::get_id() != sched) ++elsewhere;
                        return std::string(line);
                      })
                 .prefetch({.blocks = 3, .on_worker = on_worker})
                 .shuffle({.capacity = 50, .seed = 7});
    const texts all = leat::block_on(read_all(p));
    return std::pair(all, elsewhere.load());
  };
  const auto [expected, none] = run(false, leat::schedulers_of(rt));
  CHECK(expected.size() == 600);
  CHECK(none == 0);
  CHECK(run(true, leat::schedulers_of(rt)) == std::pair(expected, 600));
  CHECK(run(true, {}) == std::pair(expected, 0));  // there is no worker
}

TEST_CASE("pipeline: a prefetch on a worker ends after a stop and after an error", "[pipeline]") {
  const temp_dir dir;
  leat::runtime rt({.threads = 2});
  const auto stop_after = [](auto& source, int count) -> task<> {
    for (int i = 0; i < count; ++i) {
      const auto next = co_await source.next();
      CHECK(next.has_value());
    }
    co_await source.stop();
  };
  const texts files = make_files(dir, {5000, 7});
  for (const int count : {0, 1, 100, 6000}) {
    auto p =
        leat::read_files<line_reader>({.files = files, .num_epochs = std::nullopt, .interleave = 2},
                                      {.workers = leat::schedulers_of(rt)})
            .prefetch({.blocks = 2, .on_worker = true})
            .map("text", text_of, {.workers = 2});
    leat::block_on(stop_after(p, count));
  }
  auto p = lines_of({.files = files}, {.workers = leat::schedulers_of(rt)})
               .map("check",
                    [](std::string line) {
                      if (line.ends_with("4")) throw leat::failure(leat::errc::data_loss, "four");
                      return line;
                    })
               .prefetch({.blocks = 1, .on_worker = true});
  const auto count_all = [](auto& source, int& count) -> task<> {
    while (co_await source.next()) ++count;
  };
  int count = 0;
  CHECK_THROWS_WITH(leat::block_on(count_all(p, count)), Catch::Contains("four"));
  CHECK(count == 4);
}

TEST_CASE("pipeline: a shuffle returns each element once, from a full buffer", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {500});
  for (const std::size_t capacity : std::vector<std::size_t>{1, 2, 64, 499, 500, 9000}) {
    const texts all = elements_of(leat::read_files<line_reader>({.files = files})
                                      .shuffle({.capacity = capacity, .seed = 3})
                                      .map("text", text_of));
    const texts in_order = read({.files = files});
    CHECK((all == in_order) == (capacity == 1));
    // The element at output position i was at an input position before i + capacity.
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(static_cast<std::size_t>(std::stoi(all[i].substr(1))) < i + capacity);
    }
    CHECK(sorted(all) == sorted(in_order));
  }
}

task<std::vector<std::size_t>> sizes_of_batches(texts files, leat::batch_stage_options options,
                                                std::uint64_t& dropped) {
  auto p = leat::read_files<line_reader>({.files = std::move(files)}).batch(options);
  std::vector<std::size_t> sizes;
  std::size_t index = 0;
  while (auto batch = co_await p.next()) {
    sizes.push_back(batch->size());
    for (const std::string_view line : *batch) CHECK(line == "a" + std::to_string(index++));
  }
  dropped = p.dropped();
  co_return sizes;
}

TEST_CASE("pipeline: batches with a remainder", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {10});
  std::uint64_t dropped = 0;
  using sizes = std::vector<std::size_t>;
  CHECK(leat::block_on(sizes_of_batches(files, {.batch_size = 4}, dropped)) == sizes{4, 4, 2});
  CHECK(dropped == 0);
  CHECK(leat::block_on(sizes_of_batches(
            files, {.batch_size = 4, .remainder = leat::batch_remainder::drop}, dropped)) ==
        sizes{4, 4});
  CHECK(dropped == 2);
  CHECK(leat::block_on(sizes_of_batches(files, {.batch_size = 5}, dropped)) == sizes{5, 5});
}

TEST_CASE("pipeline: a batch that was not moved from reuses its memory", "[pipeline]") {
  const temp_dir dir;
  std::vector<const void*> memory;
  auto p = lines_of({.files = make_files(dir, {10})})
               .batch({.batch_size = 4})
               .map("join", [&](const texts& batch) {
                 memory.push_back(batch.data());
                 std::string all;
                 for (const std::string& text : batch) all += text;
                 return all;
               });
  CHECK(leat::block_on(read_all(p)) == texts{"a0a1a2a3", "a4a5a6a7", "a8a9"});
  CHECK(memory == std::vector<const void*>(3, memory[0]));
}

TEST_CASE("pipeline: flat_map makes several elements from one", "[pipeline]") {
  const temp_dir dir;
  auto p =
      lines_of({.files = make_files(dir, {3})}).flat_map("repeat", [](const std::string& text) {
        return texts(static_cast<std::size_t>(text[1] - '0'), text);
      });
  CHECK(leat::block_on(read_all(p)) == texts{"a1", "a2", "a2"});
}

TEST_CASE("pipeline: an error appears at the position of its element", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {100});
  leat::runtime rt({.threads = 2});
  for (const std::size_t workers : std::vector<std::size_t>{0, 1, 2, 5}) {
    for (const std::size_t chunk_size : std::vector<std::size_t>{1, 20, 100, 100'000}) {
      auto p = leat::read_files<line_reader>(
                   {.files = files, .reader = {.read = {.chunk_size = chunk_size}}},
                   {.workers = leat::schedulers_of(rt)})
                   .map("parse",
                        [](std::string_view line) {
                          if (line == "a42") throw std::invalid_argument("forty-two");
                          return std::string(line);
                        },
                        {.workers = workers})
                   .prefetch(3);
      texts seen;
      std::string error;
      rt.block_on([](auto& source, texts& s, std::string& e) -> task<> {
        try {
          while (auto next = co_await source.next()) s.push_back(*next);
        } catch (const std::invalid_argument& failed) {
          e = failed.what();
        }
        const auto after = co_await source.next();
        CHECK_FALSE(after.has_value());
      }(p, seen, error));
      CHECK(error == "forty-two");
      CHECK(seen.size() == 42);
    }
  }
}

TEST_CASE("pipeline: next() after stop() does not start it", "[pipeline]") {
  leat::block_on([]() -> task<> {
    auto p = lines_of({.files = {"/nowhere"}}).prefetch(1);
    co_await p.stop();
    const auto next = co_await p.next();
    CHECK_FALSE(next.has_value());
  }());
}

TEST_CASE("pipeline: two shuffles, and flags as elements", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {200});
  const texts all = elements_of(leat::read_files<line_reader>({.files = files})
                                    .shuffle({.capacity = 20, .seed = 1})
                                    .shuffle({.capacity = 30, .seed = 2, .name = "again"})
                                    .map("text", text_of));
  const texts in_order = read({.files = files});
  CHECK(all != in_order);
  CHECK(sorted(all) == sorted(in_order));
  auto flags = leat::read_files<line_reader>({.files = files})
                   .map("flag", [](std::string_view line) { return line.size() == 2; })
                   .shuffle({.capacity = 20, .seed = 1});
  int set = 0;
  leat::block_on(flags.for_each([&](bool flag) { set += flag; }));
  CHECK(set == 10);
}

TEST_CASE("pipeline: a function that returns a reference to a range keeps the range",
          "[pipeline]") {
  const temp_dir dir;
  const texts words{"one", "two"};
  auto p = lines_of({.files = make_files(dir, {2})})
               .flat_map("words", [&](const std::string&) -> const texts& { return words; });
  CHECK(leat::block_on(read_all(p)) == texts{"one", "two", "one", "two"});
}

TEST_CASE("pipeline: throws the error of a missing file to the consumer", "[pipeline]") {
  const temp_dir dir;
  const std::string path = dir / "missing";
  auto p = lines_of({.files = {path}});
  CHECK(contains(error_of(read_all(p), errc::not_found), path));
  auto some = lines_of({.files = {make_files(dir, {1})[0], path}});
  CHECK_THROWS_AS(leat::block_on(read_all(some)), leat::failure);
  auto ranks = lines_of({.files = make_files(dir, {1}), .world = {.rank = 1, .world_size = 2}});
  CHECK(contains(refusal([&] { return leat::block_on(read_all(ranks)); }),
                 "1 files are not enough for 2 ranks"));
}

TEST_CASE("pipeline: stop() ends it before the end of the input", "[pipeline]") {
  const temp_dir dir;
  leat::runtime rt({.threads = 2});
  auto p =
      leat::read_files<line_reader>({.files = make_files(dir, {9}), .num_epochs = std::nullopt},
                                    {.workers = leat::schedulers_of(rt)})
          .map("text", text_of, {.workers = 3})
          .shuffle({.capacity = 5})
          .prefetch(2);
  rt.block_on([](auto& source) -> task<> {
    for (int i = 0; i < 100; ++i) {
      const auto next = co_await source.next();
      CHECK(next.has_value());
    }
    co_await source.stop();
    const auto next = co_await source.next();
    CHECK_FALSE(next.has_value());
  }(p));
}

TEST_CASE("pipeline: rejects invalid declarations before it opens a file", "[pipeline]") {
  using source = leat::file_source<line_reader>;
  const auto refused = [](source s) {
    return refusal([&] { return leat::read_files<line_reader>(std::move(s), {.name = "train"}); });
  };
  CHECK(contains(refused({}), "pipeline 'train', stage 'files': no files: list at least one"));
  CHECK(contains(refused({.files = {"x"}, .num_epochs = 0}), "num_epochs is 0"));
  CHECK(contains(refused({.files = {"/dev/stdin"}, .num_epochs = {}}),
                 "'/dev/stdin' can be read only once: set num_epochs to 1"));
  CHECK(contains(refused({.files = {"x"}, .interleave = 0}), "interleave is 0: set 1 to 1024"));
  CHECK(contains(refused({.files = {"x"}, .block_length = 0}), "block_length is 0: set at least"));
  CHECK(contains(refused({.files = {"x"}, .world = {.rank = 2, .world_size = 2}}),
                 "rank is 2, must be below the world_size of 2"));
  CHECK(contains(refused({.files = {"x"}, .shuffle = true, .world = {.world_size = 2}}),
                 "the same seed"));
  CHECK(contains(refused({.files = {"x"}, .name = ""}), "stage has no name: set a name"));
  CHECK(contains(refused({.files = {"x"}, .reader = {.max_line_size = 0}}),
                 "pipeline 'train', stage 'files': max_line_size is 0, must be 1 or more"));
  CHECK(contains(refused({.files = {"x"}, .reader = {.read = {.depth = 1'000'000}}}),
                 "stage 'files': read_options::depth is 1000000, must be 1 to 1024"));
  CHECK(contains(refused({.files = {"x"}, .reader = {.decompression = {.max_ratio = 0}}}),
                 "stage 'files': decompression_options::max_ratio is 0"));
  const auto refused_index = [](leat::indexed_reader_options o) {
    return refusal([&] { return leat::read_indexed({"x"}, std::move(o)); });
  };
  CHECK(contains(refused_index({.num_epochs = 0}), "num_epochs is 0"));
  CHECK(contains(refused_index({.seed = 1, .world = {.rank = 5, .world_size = 2}}), "rank is 5"));
  CHECK(contains(refused_index({.world = {.rank = 1, .world_size = 2}}),
                 "set the same seed in all ranks"));
  const auto stage = [](auto add) {
    return refusal([&] { return add(lines_of({.files = {"x"}})); });
  };
  CHECK(contains(stage([](auto p) { return std::move(p).shuffle({}); }), "capacity is 0: set"));
  CHECK(contains(stage([](auto p) { return std::move(p).batch({}); }), "batch_size is 0: set"));
  for (const std::size_t blocks : {std::size_t{0}, SIZE_MAX - 1, SIZE_MAX}) {
    const auto ahead = [&](auto p) { return std::move(p).prefetch(blocks); };
    CHECK(contains(stage(ahead), "blocks is out of range: set 1 to 1048576"));
  }
  CHECK(contains(
      stage([](auto p) { return std::move(p).map("text", [](std::string s) { return s; }); }),
      "another stage has the same name: rename one of them"));
  CHECK(contains(stage([](auto p) {
                   return std::move(p).map("m", [](std::string s) { return s; }, {.workers = 5000});
                 }),
                 "at most 1024"));
  CHECK(contains(
      stage([](auto p) {
        return std::move(p)
            .map("m", [](std::string s) { return s; }, {.workers = 1})
            .batch({.batch_size = 2})
            .prefetch({.blocks = 1, .on_worker = true});
      }),
      "stage 'prefetch': on_worker after a stage with workers: call prefetch() before that stage"));
}

}  // namespace pipeline_test
