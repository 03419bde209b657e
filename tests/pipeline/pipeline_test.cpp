// Pipelines: what is refused, what comes out, and in which order.

#include "leat/pipeline/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/runtime.hpp"
#include "leat/core/sleep.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/task_group.hpp"
#include "leat/io/line_reader.hpp"
#include "leat/io/tfrecord_writer.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/sim/world.hpp"
#include "support/leat_test.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace {

using leat::line_reader;
using leat::ordering;
using leat::task;
using leat_test::contains;

using texts = std::vector<std::string>;

std::string text_of(std::string_view line) { return std::string(line); }

// Files a, b, c ... of so many lines each: "a0", "a1" ...
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

template <class Pipeline>
task<texts> read_all(Pipeline& p) {
  texts all;
  while (auto next = co_await p.next()) all.push_back(std::move(*next));
  co_return all;
}

auto lines_of(leat::file_source<line_reader> source, leat::pipeline_options options = {}) {
  return leat::read_files<line_reader>(std::move(source), std::move(options)).map("text", text_of);
}

texts read(leat::file_source<line_reader> source) {
  auto p = lines_of(std::move(source));
  return leat::sync_wait(read_all(p));
}

TEST_CASE("pipeline: files one after the other, in order", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {3, 0, 2});
  CHECK(read({.files = {dir / "*"}}) == texts{"a0", "a1", "a2", "c0", "c1"});
  CHECK(read({.files = files, .num_epochs = 2}).size() == 10);
}

TEST_CASE("pipeline: interleaved files take turns of a block", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {5, 2, 4, 1});
  CHECK(read({.files = files, .interleave = 2, .block = 2}) ==
        texts{"a0", "a1", "b0", "b1", "a2", "a3", "c0", "c1", "a4", "d0", "c2", "c3"});
  // However the readers give them.
  for (const std::size_t chunk : std::vector<std::size_t>{1, 2, 3, 4, 7}) {
    CHECK(read({.files = files,
                .interleave = 3,
                .block = 2,
                .reader = {.read = {.chunk_size = chunk}}}) ==
          read({.files = files, .interleave = 3, .block = 2}));
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
                            .rank = rank,
                            .world_size = 3});
    all.insert(all.end(), own.begin(), own.end());
  }
  texts twice = read({.files = files, .num_epochs = 2});
  std::sort(all.begin(), all.end());
  std::sort(twice.begin(), twice.end());
  CHECK(all == twice);
}

TEST_CASE("pipeline: all records in an order of all of them", "[pipeline]") {
  const temp_dir dir;
  leat::sync_wait([](std::string path) -> task<> {
    auto writer = co_await leat::tfrecord_writer::open(std::move(path));
    for (int i = 0; i < 300; ++i) {
      const std::string record = std::to_string(i);
      co_await writer.write(leat::as_bytes(record));
    }
    co_await writer.close();
  }(dir / "a.tfrecord"));
  const auto epoch = [&](std::uint64_t seed) {
    auto p =
        leat::read_indexed({dir / "*.tfrecord"}, {.num_epochs = 1, .seed = seed})
            .map("text", [](leat::byte_view record) { return std::string(leat::as_text(record)); });
    return leat::sync_wait(read_all(p));
  };
  texts once = epoch(1);
  CHECK(once == epoch(1));
  CHECK(once != epoch(2));
  std::sort(once.begin(), once.end());
  CHECK(std::unique(once.begin(), once.end()) == once.end());
  CHECK(once.size() == 300);
}

TEST_CASE("pipeline: files without a record, again and again, are an end", "[pipeline]") {
  const temp_dir dir;
  CHECK(read({.files = make_files(dir, {0, 0}), .num_epochs = std::nullopt}).empty());
}

TEST_CASE("pipeline: the same order with any number of workers", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {300, 200, 100});
  leat::runtime rt({.threads = 3});
  const auto run = [&](std::size_t workers, ordering order) {
    auto p = leat::read_files<line_reader>({.files = files, .interleave = 2, .block = 5},
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
    texts free = run(workers, ordering::free);
    texts sorted = expected;
    std::sort(free.begin(), free.end());
    std::sort(sorted.begin(), sorted.end());
    CHECK(free == sorted);
  }
}

TEST_CASE("pipeline: a shuffle gives each element once, from a full buffer", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {500});
  for (const std::size_t capacity : std::vector<std::size_t>{1, 2, 64, 499, 500, 9000}) {
    auto p = leat::read_files<line_reader>({.files = files})
                 .shuffle({.capacity = capacity, .seed = 3})
                 .map("text", text_of);
    texts all = leat::sync_wait(read_all(p));
    const texts in_order = read({.files = files});
    CHECK((all == in_order) == (capacity == 1));
    // What comes out at place i has gone in before place i + capacity.
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(static_cast<std::size_t>(std::stoi(all[i].substr(1))) < i + capacity);
    }
    std::sort(all.begin(), all.end());
    texts sorted = in_order;
    std::sort(sorted.begin(), sorted.end());
    CHECK(all == sorted);
  }
}

task<std::vector<std::size_t>> sizes_of_batches(texts files, leat::batches_options options,
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

TEST_CASE("pipeline: batches, and what is left over", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {10});
  std::uint64_t dropped = 0;
  using sizes = std::vector<std::size_t>;
  CHECK(leat::sync_wait(sizes_of_batches(files, {.size = 4}, dropped)) == sizes{4, 4, 2});
  CHECK(dropped == 0);
  CHECK(leat::sync_wait(sizes_of_batches(files, {.size = 4, .last = leat::remainder::drop},
                                         dropped)) == sizes{4, 4});
  CHECK(dropped == 2);
  CHECK(leat::sync_wait(sizes_of_batches(files, {.size = 5}, dropped)) == sizes{5, 5});
}

TEST_CASE("pipeline: a function that makes several elements of one", "[pipeline]") {
  const temp_dir dir;
  auto p =
      lines_of({.files = make_files(dir, {3})}).flat_map("repeat", [](const std::string& text) {
        return texts(static_cast<std::size_t>(text[1] - '0'), text);
      });
  CHECK(leat::sync_wait(read_all(p)) == texts{"a1", "a2", "a2"});
}

TEST_CASE("pipeline: an error comes where its element would have", "[pipeline]") {
  const temp_dir dir;
  const texts files = make_files(dir, {100});
  leat::runtime rt({.threads = 2});
  for (const std::size_t workers : std::vector<std::size_t>{0, 1, 2, 5}) {
    auto p = leat::read_files<line_reader>({.files = files, .interleave = 2, .block = 1},
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

TEST_CASE("pipeline: a missing file is told to the consumer", "[pipeline]") {
  const temp_dir dir;
  const std::string path = dir / "missing";
  auto p = lines_of({.files = {path}});
  try {
    leat::sync_wait(read_all(p));
    FAIL("read");
  } catch (const leat::failure& e) {
    CHECK(e.code() == leat::errc::not_found);
    CHECK(contains(e.what(), path));
  }
}

TEST_CASE("pipeline: it ends before its end when it is told to", "[pipeline]") {
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

TEST_CASE("pipeline: what is declared wrong is refused before anything is opened", "[pipeline]") {
  using source = leat::file_source<line_reader>;
  const auto refused = [](source s) {
    return leat_test::refusal([&] {
      static_cast<void>(leat::read_files<line_reader>(std::move(s), {.name = "train"}));
      return 0;
    });
  };
  CHECK(contains(refused({}), "pipeline 'train', stage 'files': name at least one file"));
  CHECK(contains(refused({.files = {"x"}, .num_epochs = 0}), "num_epochs is 0"));
  CHECK(contains(refused({.files = {"x"}, .interleave = 0}), "interleave 1 file or more"));
  CHECK(contains(refused({.files = {"x"}, .block = 0}), "block of 1 record"));
  CHECK(contains(refused({.files = {"x"}, .rank = 2, .world_size = 2}), "below world_size"));
  CHECK(contains(refused({.files = {"x"}, .shuffle = true, .world_size = 2}), "the same seed"));
  CHECK(contains(refused({.files = {"x"}, .name = ""}), "give the stage a name"));
  const auto stage = [](auto add) {
    return leat_test::refusal([&] {
      static_cast<void>(add(lines_of({.files = {"x"}})));
      return 0;
    });
  };
  CHECK(contains(stage([](auto p) { return std::move(p).shuffle({}); }), "capacity of 1"));
  CHECK(contains(stage([](auto p) { return std::move(p).batch({}); }), "size of 1 or more"));
  CHECK(contains(stage([](auto p) { return std::move(p).prefetch(0); }), "ahead by 1"));
  CHECK(contains(
      stage([](auto p) { return std::move(p).map("text", [](std::string s) { return s; }); }),
      "two stages of that name"));
  CHECK(contains(stage([](auto p) {
                   return std::move(p).map("m", [](std::string s) { return s; }, {.workers = 5000});
                 }),
                 "at most 1024"));
}

// The whole way, in a world that reads short, late and in another order each time.
task<texts> read_in(leat::sim::world& w, std::size_t workers, ordering order) {
  std::vector<leat::scheduler*> threads;
  for (std::size_t i = 0; i < w.threads(); ++i) threads.push_back(&w.thread(i));
  auto p = leat::read_files<line_reader>({.files = {"/data/*"},
                                          .num_epochs = 2,
                                          .shuffle = true,
                                          .seed = 5,
                                          .interleave = 2,
                                          .block = 3,
                                          .reader = {.read = {.chunk_size = 16}}},
                                         {.order = order, .workers = threads})
               .map("text", text_of, {.workers = workers})
               .shuffle({.capacity = 10, .seed = 6})
               .batch({.size = 4})
               .prefetch(1);
  texts all;
  while (auto batch = co_await p.next()) {
    for (std::string& text : *batch) all.push_back(std::move(text));
  }
  co_return all;
}

TEST_CASE("pipeline: the order is the same whatever the world does", "[pipeline]") {
  texts expected;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t workers = seed % 4;
    texts seen;
    leat::sim::world w(
        seed, {.threads = 1 + seed % 3, .files = {.faults = {.short_transfer = 0.3, .slow = 0.2}}});
    for (char name = 'a'; name < 'e'; ++name) {
      std::string text;
      for (int i = 0; i < 10 * (name - 'a'); ++i) text += name + std::to_string(i) + "\n";
      w.files().write_file(std::string("/data/") + name, text);
    }
    const ordering order = seed % 5 == 4 ? ordering::free : ordering::deterministic;
    w.run([&](leat::sim::world& here) -> task<> { seen = co_await read_in(here, workers, order); });
    if (expected.empty()) expected = seen;
    if (order == ordering::free) {
      texts sorted = expected;
      std::sort(sorted.begin(), sorted.end());
      std::sort(seen.begin(), seen.end());
      CHECK(seen == sorted);
    } else {
      CHECK(seen == expected);
    }
  }
  CHECK(expected.size() == 120);
}

// A consumer that takes its time, which is virtual.
task<std::string> verdict_of(leat::duration consuming) {
  auto p = leat::read_files<line_reader>({.files = {"/data/*"}})
               .map("text", text_of)
               .batch({.size = 5})
               .prefetch(2);
  const leat::time_point begin = leat::scheduler::current()->now();
  while (auto next = co_await p.next()) co_await leat::sleep_for(consuming);
  const leat::duration elapsed = leat::scheduler::current()->now() - begin;
  const auto stages = p.stages();
  co_return leat::verdict(stages, elapsed);
}

TEST_CASE("pipeline: the verdict names a consumer for which all wait", "[pipeline]") {
  leat::sim::world w(1);
  w.files().write_file("/data/a", std::string(500, '\n'));
  std::string text;
  w.run([&](leat::sim::world&) -> task<> {
    text = co_await verdict_of(std::chrono::milliseconds(5));
  });
  CHECK(contains(text, "The bottleneck is 'consumer'"));
}

TEST_CASE("pipeline: a stop of the consumer at any time ends all of it", "[pipeline]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    leat::sim::world w(seed, {.threads = 2, .files = {.faults = {.slow = 0.5}}});
    w.files().write_file("/data/a", std::string(300, '\n'));
    w.run([&](leat::sim::world& here) -> task<> {
      leat::task_group group;
      group.spawn([](leat::sim::world& there) -> task<> {
        auto p = leat::read_files<line_reader>({.files = {"/data/*"}, .num_epochs = std::nullopt},
                                               {.workers = {&there.thread(1)}})
                     .map("text", text_of, {.workers = 2})
                     .prefetch(1);
        for (bool more = true; more;) {
          const auto next = co_await p.next();
          more = next.has_value();
        }
      }(here));
      co_await leat::sleep_for(std::chrono::microseconds(here.random().below(3000)));
      group.request_stop();
      co_await group.join();
    });
  }
}

}  // namespace
