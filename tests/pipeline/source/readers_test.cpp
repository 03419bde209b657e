// Files that tasks read ahead: the stream, its states, its reports and its errors equal those of
// files that the requesting task reads.

#include <filesystem>

#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/sim/world/world.hpp"
#include "pipeline/source/dealing.hpp"

namespace readers_test {

using leat::line_reader;
using leat::tfrecord_reader;
using namespace leat_test;

leat::file_source<line_reader> lines_in(const temp_dir& dir, std::size_t readers,
                                        std::size_t interleave = 1) {
  return {.files = {dir / "lines*"},
          .num_epochs = 2,
          .shuffle = true,
          .seed = 3,
          .interleave = interleave,
          .block_length = 3,
          .readers = readers,
          .reader = {.read = {.chunk_size = 100}}};
}

TEST_CASE("readers: elements and states do not depend on the number of readers and threads",
          "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  for (const std::size_t interleave : std::vector<std::size_t>{1, 2, 30}) {
    const auto expected = run_and_save(lines_of(lines_in(dir, 0, interleave)));
    REQUIRE(expected.first.size() == 800);
    for (const std::size_t readers : std::vector<std::size_t>{1, 2, 8, 40}) {
      for (const std::size_t threads : std::vector<std::size_t>{1, 2, 8}) {
        const leat::runtime rt({.threads = threads});
        auto p = lines_of(lines_in(dir, readers, interleave), {.workers = leat::schedulers_of(rt)});
        INFO(readers << " readers on " << threads << " threads, interleave " << interleave);
        CHECK((leat::block_on(read_and_save(p)) == expected));
      }
    }
  }
}

TEST_CASE("readers: without workers they run on the consumer's scheduler", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  CHECK(elements_of(lines_of(lines_in(dir, 4, 2))) == elements_of(lines_of(lines_in(dir, 0, 2))));
}

TEST_CASE("readers: read compressed files and whole files", "[pipeline]") {
  const temp_dir dir;
  const leat::runtime rt({.threads = 2});
  leat::block_on(write_record_files(dir, 500, leat::compression::gzip));
  for (int i = 0; i < 60; ++i) dir.write("whole" + std::to_string(100 + i), std::to_string(i));
  const auto records = [&](std::size_t readers) {
    leat::file_source<tfrecord_reader> source;
    source.files = {dir / "records???"};
    source.readers = readers;
    source.reader.compression = leat::compression::gzip;
    return leat::read_files(std::move(source), {.workers = leat::schedulers_of(rt)})
        .map("text", text_of_record);
  };
  const auto whole = [&](std::size_t readers) {
    leat::file_source<leat::whole_file_reader> source;
    source.files = {dir / "whole*"};
    source.interleave = 2;
    source.readers = readers;
    return leat::read_files(std::move(source), {.workers = leat::schedulers_of(rt)})
        .map("text", text_of_record);
  };
  for (const std::size_t readers : std::vector<std::size_t>{2, 5}) {
    CHECK(elements_of(records(readers)) == elements_of(records(0)));
    CHECK(elements_of(whole(readers)) == elements_of(whole(0)));
  }
}

TEST_CASE("readers: a pipeline resumes after every element, with any number of readers",
          "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  const leat::runtime rt({.threads = 2});
  const std::vector<std::size_t> numbers = {3, 0, 8, 2};
  std::size_t next = 0;
  const auto readers = [&] { return numbers[next++ % numbers.size()]; };
  check_resuming(
      [&] { return lines_of(lines_in(dir, readers(), 2), {.workers = leat::schedulers_of(rt)}); });
  check_resuming([&] {
    return lines_of(lines_in(dir, readers()), {.workers = leat::schedulers_of(rt)})
        .shuffle({.capacity = 50, .seed = 2})
        .batch({.batch_size = 8})
        .map("join", join_batch, {.workers = 2})
        .prefetch(2);
  });
}

TEST_CASE("readers: resume with a different number of ranks", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 400);
  const leat::runtime rt({.threads = 2});
  const auto after = [&](std::size_t readers) {
    const auto of_rank = [&](std::uint64_t rank, std::uint64_t world_size) {
      auto source = lines_in(dir, readers, 2);
      source.world = {.rank = rank, .world_size = world_size};
      return lines_of(std::move(source), {.workers = leat::schedulers_of(rt)});
    };
    texts seen;
    texts states;
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      auto [elements, all] = run_and_save(of_rank(rank, 3), 40 + 20 * rank);
      seen.insert(seen.end(), elements.begin(), elements.end());
      states.push_back(all.back());
    }
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      const texts elements = go_on_with(of_rank(rank, 2), states);
      seen.insert(seen.end(), elements.begin(), elements.end());
    }
    return seen;
  };
  CHECK(after(4) == after(0));
}

// ------------------------------------------------------------------------------ damage and errors

// Files of which some lines are too long.
void write_damaged_files(const temp_dir& dir) {
  for (int file = 0; file < 6; ++file) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(100 * file + i) + (i % 20 == 7 ? " is too long" : "") + '\n';
    }
    dir.write("lines" + std::to_string(file), text);
  }
}

leat::file_source<line_reader> damaged(const temp_dir& dir, std::size_t readers,
                                       leat::corruption_options how) {
  auto source = lines_in(dir, readers, 2);
  source.reader.max_line_size = 8;
  source.reader.corruption = std::move(how);
  return source;
}

struct outcome {
  texts all;
  std::string error;
  std::string state;

  friend bool operator==(const outcome&, const outcome&) = default;
};

template <class Pipeline>
task<outcome> outcome_of(Pipeline p) {
  outcome o;
  try {
    while (auto text = co_await p.next()) o.all.push_back(std::move(*text));
  } catch (const leat::failure& e) {
    o.error = e.what();
  }
  o.state = p.save();
  co_return o;
}

TEST_CASE("readers: an error appears at the position of its record", "[pipeline]") {
  const temp_dir dir;
  write_damaged_files(dir);
  const leat::runtime rt({.threads = 2});
  const auto read = [&](std::size_t readers, leat::corruption_options how) {
    return leat::block_on(outcome_of(
        lines_of(damaged(dir, readers, std::move(how)), {.workers = leat::schedulers_of(rt)})));
  };
  const outcome strict = read(0, {});
  REQUIRE(contains(strict.error, "lines"));
  CHECK(read(2, {}) == strict);
  CHECK(read(8, {}) == strict);
  const leat::corruption_options few{.policy = leat::corruption_policy::skip_record,
                                     .max_reports = 2};
  const outcome limited = read(0, few);
  REQUIRE(contains(limited.error, "2 earlier reports reach the limit"));
  CHECK(read(2, few) == limited);
  CHECK(read(8, few) == limited);
}

TEST_CASE("readers: corruption is reported when its records are consumed, in order", "[pipeline]") {
  const temp_dir dir;
  write_damaged_files(dir);
  const leat::runtime rt({.threads = 2});
  const auto told = [&](std::size_t readers, const std::string& log_file) -> task<texts> {
    texts all;
    bool here = true;
    leat::scheduler& sched = leat::this_task::get_scheduler();
    leat::corruption_options how{.policy = leat::corruption_policy::skip_record};
    how.on_report = [&](const leat::corruption_report& r) {
      here = here && leat::scheduler::current() == &sched;
      all.push_back(r.path + ':' + std::to_string(r.index));
    };
    how.log = co_await leat::quarantine_log::open(dir / log_file);
    auto p = lines_of(damaged(dir, readers, how), {.workers = leat::schedulers_of(rt)});
    while (auto text = co_await p.next()) all.push_back(std::move(*text));
    CHECK(here);
    co_return all;
  };
  const texts expected = leat::block_on(told(0, "none.log"));
  CHECK(expected.size() == 2 * 6 * 60);
  CHECK(leat::block_on(told(5, "five.log")) == expected);
  CHECK(temp_dir::read(dir / "five.log") == temp_dir::read(dir / "none.log"));
}

TEST_CASE("readers: a report that cannot be written is an error, also after the last record",
          "[pipeline]") {
  const temp_dir dir;
  dir.write("lines0", "1\n2\nthis is too long\n");
  dir.write("lines1", "3\n");
  const leat::runtime rt({.threads = 2});
  const auto read = [&](std::size_t readers) -> task<outcome> {
    leat::file_source<line_reader> source{.files = {dir / "lines*"}, .readers = readers};
    source.reader.max_line_size = 8;
    source.reader.corruption.policy = leat::corruption_policy::skip_record;
    source.reader.corruption.log = co_await leat::quarantine_log::open("/dev/full");
    auto p = lines_of(std::move(source), {.workers = leat::schedulers_of(rt)});
    outcome o = co_await outcome_of(std::move(p));
    co_return o;
  };
  const outcome expected = leat::block_on(read(0));
  CHECK(expected.all == texts{"1", "2"});
  REQUIRE(contains(expected.error, "/dev/full"));
  CHECK(leat::block_on(read(2)) == expected);
}

TEST_CASE("readers: a missing file is an error at its position", "[pipeline]") {
  const temp_dir dir;
  for (char name = 'a'; name < 'd'; ++name) dir.write({&name, 1}, std::string(3, name) + "\n");
  const leat::runtime rt({.threads = 2});
  const auto read = [&]() -> task<std::string> {
    auto p = lines_of({.files = {dir / "?"}, .num_epochs = 2, .readers = 2},
                      {.workers = leat::schedulers_of(rt)});
    std::string seen;
    try {
      while (const auto line = co_await p.next()) {
        seen += *line;
        if (seen == "aaabbbccc") std::filesystem::remove(dir / "b");
      }
    } catch (const leat::failure& e) {
      CHECK(e.code() == leat::errc::not_found);
      CHECK(contains(e.what(), dir / "b"));
    }
    co_return seen;
  };
  CHECK(leat::block_on(read()) == "aaabbbcccaaa");
}

// ------------------------------------------------------------------------------------- in worlds

auto declared(leat::sim::world& w, std::size_t readers) {
  std::vector<leat::scheduler*> threads;
  for (std::size_t i = 0; i < w.threads(); ++i) threads.push_back(&w.thread(i));
  return leat::read_files<line_reader>({.files = {"/in/*"},
                                        .num_epochs = 2,
                                        .shuffle = true,
                                        .seed = 5,
                                        .interleave = 2,
                                        .block_length = 3,
                                        .readers = readers,
                                        .reader = {.read = {.chunk_size = 16}}},
                                       {.workers = threads})
      .map("text", text_of, {.workers = readers % 3});
}

void write_input(leat::sim::world& w) {
  for (char name = 'a'; name < 'g'; ++name) {
    std::string text;
    for (int i = 0; i < 7 * (name - 'a'); ++i) text += name + std::to_string(i) + "\n";
    w.files().write_file(std::string("/in/") + name, text);
  }
}

TEST_CASE("readers: order is equal in every simulated world", "[pipeline]") {
  texts expected;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    texts seen;
    leat::sim::world w(
        seed, {.threads = 1 + seed % 4, .files = {.faults = {.short_transfer = 0.3, .slow = 0.2}}});
    write_input(w);
    const std::size_t readers = seed % 5 == 0 ? 0 : 1 + seed % 5;
    w.run([&](leat::sim::world& here) -> task<> {
      auto p = declared(here, readers);
      seen = co_await read_all(p);
    });
    if (expected.empty()) expected = seen;
    CHECK(seen == expected);
  }
  CHECK(expected.size() == 210);
}

TEST_CASE("readers: a stop of the consumer at any time ends all of them", "[pipeline]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    leat::sim::world w(seed, {.threads = 3, .files = {.faults = {.slow = 0.5}}});
    write_input(w);
    w.run([&](leat::sim::world& here) -> task<> {
      leat::task_group group;
      group.spawn([](leat::sim::world& there) -> task<> {
        for (;;) {
          auto p = declared(there, 4);
          for (bool more = true; more;) {
            const auto next = co_await p.next();
            more = next.has_value();
          }
        }
      }(here));
      co_await leat::sleep_for(std::chrono::microseconds(here.random().uniform_below(3000)));
      group.request_stop();
      co_await group.join();
    });
    CHECK(w.files().open_files() == 0);
  }
}

// -------------------------------------------------------------------------------------- refusals

TEST_CASE("readers: reject invalid options before a file is opened", "[pipeline]") {
  const auto source = [](std::size_t readers, std::size_t interleave) {
    return leat::file_source<line_reader>{
        .files = {"/none"}, .interleave = interleave, .readers = readers};
  };
  CHECK(contains(refusal([&] { return lines_of(source(1025, 1)); }),
                 "readers is 1025: set at most 1024"));
  CHECK(contains(refusal([&] {
                   return leat::read_files(source(2, 1)).prefetch({.blocks = 1, .on_worker = true});
                 }),
                 "on_worker after a stage with workers: call prefetch() before that stage"));
}

}  // namespace readers_test
