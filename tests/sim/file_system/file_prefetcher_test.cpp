// Whole files on a simulated device, with every order of completion, faults, stops and few
// descriptors.

#include "leat/io/reader/file_prefetcher.hpp"

#include "leat/sim.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/effort.hpp"

namespace file_prefetcher_test {

using leat::file_prefetcher;
using leat::loaded_file;
using leat::sim::world;
using leat_test::run_and_stop;
using leat_test::some_time;

std::string text_of(std::size_t i) {
  return std::string(i * 997 % 5000, static_cast<char>('a' + i % 26));
}

std::vector<std::string> make_files(world& w, std::size_t count) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    paths.push_back("/data/" + std::to_string(i));
    w.files().write_file(paths.back(), text_of(i));
  }
  return paths;
}

leat::file_prefetcher_options random_options(world& w) {
  return {.depth = static_cast<std::size_t>(1 + w.random().uniform_below(8)),
          .max_bytes_ahead = w.random().uniform_below(3) == 0 ? 3000 : std::uint64_t{1} << 20,
          .direct = w.random().uniform_below(2) == 0};
}

// Reads the files from number `next` and checks their contents.
task<> read_on(file_prefetcher& files, std::size_t& next) {
  loaded_file file;
  while (co_await files.next(file)) {
    REQUIRE(file.path() == "/data/" + std::to_string(next));
    REQUIRE((leat::as_text(file.contents()) == text_of(next)));
    ++next;
  }
}

TEST_CASE(
    "file_prefetcher: delivers every file in order, on a faulty device and with few descriptors") {
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(1000); ++seed) {
    world w(seed, {.files = {.faults = leat_test::passing, .max_open_files = 1 + seed % 7}});
    w.check_frames();
    w.run([](world& here) -> task<> {
      const std::size_t count = static_cast<std::size_t>(here.random().uniform_below(30));
      file_prefetcher files(make_files(here, count), random_options(here));
      std::size_t next = 0;
      for (std::uint64_t stops = here.random().uniform_below(4); stops > 0; --stops) {
        co_await run_and_stop(read_on(files, next), some_time(here, 100));
      }
      co_await read_on(files, next);
      REQUIRE(next == count);
    });
  }
}

TEST_CASE("file_prefetcher: reports unreadable files and reads the others") {
  std::size_t broken = 0;
  std::size_t read = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    world w(seed, {.files = {.faults = {.io_error = 0.1, .truncated = 0.05, .replaced = 0.05}}});
    w.run([&](world& here) -> task<> {
      const std::vector<std::string> paths = make_files(here, 20);
      file_prefetcher files(paths, random_options(here));
      loaded_file file;
      for (const std::string& path : paths) {
        REQUIRE(co_await files.next(file));
        REQUIRE(file.path() == path);
        if (!file.error()) {
          ++read;
          continue;
        }
        ++broken;
        try {
          static_cast<void>(file.contents());
        } catch (const leat::failure& e) {
          REQUIRE(std::string(e.what()).starts_with(path + ": "));
        }
      }
      REQUIRE_FALSE(co_await files.next(file));
    });
  }
  CHECK(broken > 300);
  CHECK(read > 3000);
}

// Reads the files from number `next`, and repeats the call after each error.
task<> insist_on_reading(file_prefetcher& files, std::size_t& next, std::size_t& errors) {
  for (bool more = true; more;) {
    try {
      co_await read_on(files, next);
      more = false;
    } catch (const leat::failure& e) {
      if (e.code() != std::errc::io_error) throw;
      ++errors;
    }
  }
}

TEST_CASE("file_prefetcher: delivers every file in order if the caller retries after each error") {
  std::size_t errors = 0;
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(1000); ++seed) {
    world w(seed, {.files = {.faults = {.short_transfer = 0.2, .io_error = 0.2, .slow = 0.05},
                             .max_open_files = 1 + seed % 7}});
    w.check_frames();
    w.run([&](world& here) -> task<> {
      const std::size_t count = static_cast<std::size_t>(here.random().uniform_below(30));
      leat::file_prefetcher_options options = random_options(here);
      options.stop_on_first_error = true;
      file_prefetcher files(make_files(here, count), options);
      std::size_t next = 0;
      for (std::uint64_t stops = here.random().uniform_below(4); stops > 0; --stops) {
        co_await run_and_stop(insist_on_reading(files, next, errors), some_time(here, 100));
      }
      co_await insist_on_reading(files, next, errors);
      REQUIRE(next == count);
      REQUIRE(files.count() == 0);
    });
  }
  CHECK(errors > leat_test::scaled_count(1000));
}

TEST_CASE("file_prefetcher: keeps its memory limit") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed);
    w.run([](world& here) -> task<> {
      std::vector<std::string> paths;
      for (int i = 0; i < 20; ++i) {
        paths.push_back("/data/" + std::to_string(i));
        here.files().write_file(paths.back(), std::string(1000, 'x'));
      }
      file_prefetcher files(paths, {.depth = 20, .max_bytes_ahead = 3500});
      loaded_file file;
      co_await files.next(file);
      co_await leat::sleep_for(std::chrono::hours(1));
      for (const std::string& path : paths) here.files().truncate(path, 1);
      std::size_t in_memory = 0;
      while (co_await files.next(file)) {
        in_memory += !file.error() && file.contents().size() == 1000 ? 1U : 0U;
      }
      REQUIRE(in_memory <= 4);
    });
  }
}

TEST_CASE("file_prefetcher: destruction during reads leaks nothing") {
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(200); ++seed) {
    world w(seed, {.files = {.faults = {.slow = 0.2}}});
    w.check_frames();
    w.run([](world& here) -> task<> {
      const std::vector<std::string> paths = make_files(here, 20);
      {
        file_prefetcher files(paths, random_options(here));
        loaded_file file;
        for (std::uint64_t i = here.random().uniform_below(5); i > 0; --i)
          co_await files.next(file);
      }
      // The loop needs the descriptors of the destroyed prefetcher, because no others are
      // available.
      for (int i = 0; i < 10; ++i) {
        file_prefetcher files(paths, {.depth = 1});
        loaded_file file;
        co_await files.next(file);
        co_await leat::sleep_for(std::chrono::hours(1));
      }
      REQUIRE(here.files().open_files() == 0);
    });
  }
}

// Returns the number of operations for reading some files.
std::uint64_t calls_of(std::size_t alignment, bool direct) {
  world w(1, {.files = {.direct_unit = alignment}});
  w.run([direct](world& here) -> task<> {
    file_prefetcher files(make_files(here, 20), {.direct = direct});
    std::size_t next = 0;
    co_await read_on(files, next);
    REQUIRE(next == 20);
  });
  return w.files().calls();
}

TEST_CASE("file_prefetcher: reads past the page cache if requested and supported") {
  // Every file is opened and closed, and every file except the empty one is read. Reads from the
  // page cache are not operations, nor is the close of such a file.
  constexpr std::uint64_t all = 20 + 19 + 20;
  CHECK(calls_of(4096, true) == all);
  CHECK(calls_of(4096, false) < all);
  CHECK(calls_of(0, true) < all);
  CHECK(calls_of(1 << 20, true) > all);  // refused by a read, so read again
}

TEST_CASE("file_prefetcher: a file grows or is truncated while it is read past the page cache") {
  static constexpr std::size_t size = 5000;
  int grown = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed);
    w.files().write_file("/a", std::string(size, '\0'));
    w.run([&grown](world& here) -> task<> {
      const std::size_t now = static_cast<std::size_t>(1 + here.random().uniform_below(2 * size));
      const leat::file_prefetcher_options options{.direct = true};
      file_prefetcher files(options);
      files.add("/a");
      if (here.random().uniform_below(2) == 0)
        co_await leat::sleep_for(std::chrono::microseconds(50));
      here.files().truncate("/a", now);
      loaded_file file;
      REQUIRE(co_await files.next(file));
      if (file.error()) {
        REQUIRE(now < size);
      } else {
        REQUIRE((file.contents().size() == size || file.contents().size() == now));
        grown += now > size && file.contents().size() == size ? 1 : 0;
      }
    });
  }
  CHECK(grown > 0);
}

}  // namespace file_prefetcher_test
