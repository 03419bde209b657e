#include "leat/sim/file_system/file_system.hpp"

#include <array>
#include <set>

#include "leat/io/file/match_files.hpp"
#include "leat/sim/world/world.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/dump.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace file_system_test {

using leat::sim::fault;
using leat::sim::world;
using leat_test::crash_and_restart;
using leat_test::for_each_operation;
using leat_test::joined;
using leat_test::passing;
using leat_test::read_lines;
using leat_test::read_records;
using leat_test::write_records;
using lines = leat_test::texts;

lines numbered(int count) { return leat_test::numbered("line ", count); }

TEST_CASE("file_system: readers see equal lines on a faulty device") {
  const lines expected = numbered(300);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().write_file("/data/a.txt", joined(expected));
    w.run([&](world&) -> task<> {
      const lines all =
          co_await read_lines("/data/a.txt", {.read = {.chunk_size = 256, .depth = 3}});
      REQUIRE(all == expected);
    });
  }
}

TEST_CASE(
    "file_system: a stop of a reader at any step loses nothing, and the next reader resumes") {
  const lines expected = numbered(200);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().write_file("/a", joined(expected));
    w.run([&](world& here) -> task<> {
      auto reader =
          co_await leat::line_reader::open("/a", {.read = {.chunk_size = 300, .depth = 3}});
      lines all;
      for (int stops = 0; stops < 5; ++stops) {
        co_await leat_test::run_and_stop(leat_test::read_on(*reader, all),
                                         leat_test::some_time(here, 100));
      }
      co_await leat_test::read_on(*reader, all);
      REQUIRE(all == expected);
    });
  }
}

// A damaged record is read a second time. If both reads are damaged, the reader reports an error.
TEST_CASE("file_system: TFRecord checksums detect a wrong bit") {
  const lines records = numbered(50);
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed, {.files = {.faults = {.bit_flip = 0.9}}});
    w.run([&](world&) -> task<> {
      co_await write_records("/a", records, 600);
      lines all;
      const std::error_code code = co_await code_of(leat_test::read_records_into(all, "/a"));
      REQUIRE((!code || code == errc::data_loss));
      if (code) ++found;
      if (!code) REQUIRE(all == records);
    });
  }
  CHECK(found > 20);
}

TEST_CASE("file_system: a full disk is an error that names the file and closes it") {
  world w(1, {.files = {.size = 2000}});
  w.run([](world& here) -> task<> {
    const std::string what =
        co_await message_of(write_records("/out", numbered(1000), 600), errc::resource_exhausted);
    CHECK(contains(what, "/out.partial"));
    CHECK(here.files().files().empty());
  });
}

TEST_CASE("file_system: nothing hangs or is partial if the n-th call fails, for every n") {
  const lines records = numbered(100);
  for (const fault f : {fault::io_error, fault::no_space, fault::interrupted, fault::again,
                        fault::cancelled_late, fault::short_transfer}) {
    std::size_t failed = 0;
    const auto run = [&](world& w) {
      w.run([&](world&) -> task<> {
        co_await write_records("/a", records, 600);
        const lines all = co_await read_records("/a");
        REQUIRE(all == records);
      });
    };
    for_each_operation({f}, {}, run, [&](world& w, bool ended_well) {
      if (!ended_well) ++failed;
      const bool passes = f != fault::io_error && f != fault::no_space;
      if (passes) REQUIRE(ended_well);
      // The file is complete or does not exist.
      if (!ended_well && w.files().read_file("/a")) {
        world(9).run([&](world& here) -> task<> {
          here.files().write_file("/a", *w.files().read_file("/a"));
          const lines all = co_await read_records("/a");
          REQUIRE(all == records);
        });
      }
    });
    if (f == fault::io_error) CHECK(failed > 5);
  }
}

TEST_CASE("file_system: a file is unchanged or complete after a crash at any point") {
  const lines old_records = numbered(40);
  const lines new_records = numbered(90);
  constexpr std::uint64_t seeds = leat_test::slow_build ? 3 : 20;
  std::size_t crashes = 0;
  std::set<std::size_t> outcomes;
  bool published = false;
  const auto run = [&](world& w) {
    published = false;
    w.run([&](world&) -> task<> {
      co_await write_records("/data", old_records, 600);
      published = true;
      co_await write_records("/data", new_records, 600);
    });
  };
  const auto check = [&](world& w, bool) {
    if (!w.files().crashed()) return;
    ++crashes;
    w.files().restart();
    w.run([&](world& here) -> task<> {
      if (!here.files().read_file("/data")) {
        REQUIRE_FALSE(published);
        co_return;
      }
      const lines all = co_await read_records("/data");
      REQUIRE((all == old_records || all == new_records));
      outcomes.insert(all.size());
    });
  };
  for_each_operation({fault::crash_before, fault::crash_after}, {0, seeds}, run, check);
  CHECK(crashes > 5 * seeds);
  CHECK(outcomes.size() == 2);
}

// The machine crashes repeatedly until the file is complete.
TEST_CASE("file_system: random crashes until a file is complete") {
  const lines old_records = numbered(40);
  const lines new_records = numbered(90);
  std::size_t crashes = 0;
  std::size_t before = 0;
  std::size_t after = 0;
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(200); ++seed) {
    world w(seed, {.files = {.faults = {.crash = 0.1}}});
    w.trace();
    bool complete = false;
    while (!complete) {
      try {
        w.run([&](world& here) -> task<> {
          if (!here.files().read_file("/data")) co_await write_records("/data", old_records, 600);
          const lines found = co_await read_records("/data");
          REQUIRE((found == old_records || found == new_records));
          co_await write_records("/data", new_records, 600);
          complete = true;
        });
      } catch (const leat::failure&) {
        REQUIRE(w.files().crashed());
      }
      if (!w.files().crashed()) continue;
      ++crashes;
      w.files().restart();
    }
    for (const std::string& line : w.schedule()) {
      before += contains(line, ", crash before it");
      after += contains(line, ", crash after it");
    }
  }
  CHECK(before + after == crashes);
  CHECK(before > leat_test::scaled_count(50));
  CHECK(after > leat_test::scaled_count(50));
}

// Writes that the address sanitizer would detect in instrumented code.
[[gnu::noinline, gnu::no_sanitize_address]] void touch(std::vector<std::byte>& buffer,
                                                       std::size_t at) {
  auto* const bytes = reinterpret_cast<unsigned char*>(buffer.data());  // std::byte's ^= looks, too
  bytes[at] ^= 1U;
}

// Reads into a buffer, or writes from it, while other code changes the buffer.
task<> touch_under_way(world& here, leat::file_request::operation what, std::size_t at) {
  const leat::file f = co_await leat::file::open("/a", leat::open_mode::read_write);
  std::vector<std::byte> buffer(100'003);
  task_group group;
  group.spawn([](const leat::file& file, leat::file_request::operation wanted,
                 std::vector<std::byte>& memory) -> task<> {
    leat::file_request r;
    r.what = wanted;
    r.handle = file.open_handle()->number;
    r.data = memory.data();
    r.size = memory.size();
    co_await leat::file_operation(file.open_handle()->backend, r, "/a",
                                  std::source_location::current());
  }(f, what, buffer));
  while (group.live_tasks() > 0 && here.files().next_completion() == leat::no_deadline) {
    co_await leat::this_task::yield();
  }
  touch(buffer, at);
  co_await group.join();
}

TEST_CASE("file_system: reports a buffer that changes during an operation") {
  using op = leat::file_request::operation;
  for (const auto& [what, words] : {std::pair(op::read, "buffer of a read was changed"),
                                    std::pair(op::write, "buffer of a write was changed")}) {
    for (const std::size_t at : {0U, 5U, 4095U, 4096U, 50'001U, 99'999U, 100'002U}) {
      std::size_t told = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {  // some read from the page cache
        world w(seed);
        w.files().write_file("/a", std::string(1000, 'x'));
        try {
          w.run([&](world& here) { return touch_under_way(here, what, at); });
        } catch (const leat::sim::invariant_violation& e) {
          CHECK(contains(e.what(), words));
          ++told;
        }
      }
      INFO(words << " at " << at);
      CHECK(told > 5);
    }
  }
}

TEST_CASE("file_system: a file that a test writes survives a crash after a rename to its name") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    world w(seed);
    w.files().write_file("/d/old", "old");
    w.run([](world&) -> task<> { co_await leat::rename_file("/d/old", "/d/name"); });
    w.files().write_file("/d/name", "new");
    crash_and_restart(w);
    CHECK(w.files().read_file("/d/name") == "new");
  }
}

TEST_CASE("file_system: names, directories and limits") {
  world w(1, {.files = {.max_open_files = 2}});
  w.files().write_file("/d/one.txt", "1");
  w.files().write_file("/d/two.txt", "2");
  w.files().make_directory("/d/sub");
  w.run([](world& here) -> task<> {
    lines pattern(1, "/d/*.txt");
    const lines matched = co_await leat::match_files(std::move(pattern));
    CHECK(matched == lines{"/d/one.txt", "/d/two.txt"});
    co_await leat::rename_file("/d/one.txt", "/d/sub/three.txt");
    const lines names = co_await leat::list_directory("/d/./sub/");
    CHECK(names == lines{"three.txt"});
    co_await leat::make_directories("/d/new/deep");
    const lines made = co_await leat::list_directory("/d/new");
    CHECK(made == lines{"deep"});
    const leat::file a = co_await leat::file::open("/d/two.txt");
    const leat::file b = co_await leat::file::open("/d/two.txt");
    CHECK(co_await code_of(leat::file::open("/d/two.txt")) == errc::resource_exhausted);
    CHECK(here.files().files().size() == 2);
  });
}

TEST_CASE("file_system: an open file keeps its content after a replacement, a new open does not") {
  const lines expected = numbered(100);
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed, {.files = {.plan = leat::sim::planned_fault{5, fault::replaced}}});
    w.files().write_file("/a", joined(expected));
    w.run([&](world&) -> task<> {
      const lines first = co_await read_lines("/a", {.read = {.chunk_size = 100, .depth = 2}});
      REQUIRE(first == expected);
      const lines second = co_await read_lines("/a");
      REQUIRE(second.size() <= first.size());
      if (second != first) ++changed;
    });
  }
  CHECK(changed > 90);
}

TEST_CASE("file_system: a crash may undo a truncation unless it was synced") {
  for (const bool synced : {false, true}) {
    std::set<std::string> outcomes;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      world w(seed);
      w.files().write_file("/a", "0123456789");
      w.run([&](world& here) -> task<> {
        leat::file f = co_await leat::file::open("/a", leat::open_mode::read_write);
        co_await f.truncate(4);
        REQUIRE(here.files().read_file("/a") == "0123");
        if (synced) co_await f.sync();
      });
      crash_and_restart(w);
      outcomes.insert(w.files().read_file("/a").value());
    }
    CHECK(outcomes.contains("0123"));
    CHECK(outcomes.contains("0123456789") == !synced);
  }
}

TEST_CASE("file_system: created directories survive a crash") {
  world w(1);
  w.files().write_file("/file", "");
  w.run([](world&) -> task<> {
    co_await leat::make_directories("/a/b/c/");
    co_await leat::make_directories("a/b");
    const leat::file_status made = co_await leat::get_status("/a/b/c");
    CHECK(made.is_directory);
    CHECK(co_await code_of(leat::make_directories("/file/below")) == errc::failed_precondition);
  });
  crash_and_restart(w);
  w.run([](world&) -> task<> {
    const auto names = co_await leat::list_directory("/a/b");
    CHECK(names == lines{"c"});
  });
}

TEST_CASE("file_system: a lock lasts until the file is closed or the machine stops") {
  world w(1);
  w.run([](world& here) -> task<> {
    leat::file first = co_await leat::file::open("/lock", leat::open_mode::append);
    leat::file second = co_await leat::file::open("/lock", leat::open_mode::append);
    leat::file other = co_await leat::file::open("/other", leat::open_mode::append);
    CHECK(co_await first.try_lock());
    CHECK(co_await first.try_lock());
    CHECK_FALSE(co_await second.try_lock());
    CHECK(co_await other.try_lock());
    co_await first.close();
    CHECK(co_await second.try_lock());
    co_await leat::sync_directory("/");
    here.files().crash();
  });
  w.files().restart();
  w.run([](world&) -> task<> {
    leat::file again = co_await leat::file::open("/lock", leat::open_mode::append);
    CHECK(co_await again.try_lock());
  });
}

TEST_CASE("file_system: a test can truncate a file") {
  world w(1);
  w.files().write_file("/a", "0123456789");
  w.files().truncate("/a", 4);
  w.files().truncate("/none", 4);
  CHECK(w.files().read_file("/a") == "0123");
  w.files().restart();
  CHECK(w.files().read_file("/a") == "0123");
}

TEST_CASE("file_system: rejects a write to a file that is open for reading") {
  world w(1);
  w.files().write_file("/a", "text");
  w.run([](world&) -> task<> {
    auto reader = co_await leat::file::open("/a");
    std::array<std::byte, 4> bytes{};
    const std::string written = co_await message_of<leat::failure>(reader.write_at(0, bytes));
    CHECK_THAT(written, Catch::Contains("Bad file descriptor"));
    const std::string cut = co_await message_of<leat::failure>(reader.truncate(0));
    CHECK_THAT(cut, Catch::Contains("Invalid argument"));
  });
  CHECK(w.files().read_file("/a") == "text");
}

TEST_CASE("file_system: a dump shows how long ago an operation on a file was cancelled") {
  world w(1, {.files = {.faults = {.slow = 1}}});
  w.run([](world&) -> task<> {
    auto f = co_await leat::file::open("/a", leat::open_mode::append);
    task_group group;
    group.spawn(f.sync());
    co_await leat::sleep_for(10s);
    group.request_stop();
    co_await leat::sleep_for(1200ms);
    CHECK_THAT(leat_test::dump(), Catch::Contains("'/a', cancelled 1.200 s ago, not ended yet"));
    co_await group.join();
  });
}

}  // namespace file_system_test
