// The contents of the device after a failed sync, regardless of later attempts.

#include "leat/sim/file_system/file_system.hpp"

#include <set>

#include "leat/io.hpp"
#include "leat/sim/world/world.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/records/record_bytes.hpp"

namespace failed_sync_test {

using leat::sim::fault;
using leat::sim::world;
using leat_test::crash_and_restart;
using leat_test::framed;

const std::string long_record(3000, 'r');

// Returns the file after a crash whose first sync has failed. It has old and new sectors.
std::string found_behind_a_failed_sync(std::uint64_t seed, bool written_again) {
  // The first call opens the file, and the second writes.
  world w(seed, {.files = {.plan = leat::sim::planned_fault{3, leat::sim::fault::io_error}}});
  bool failed = false;
  w.run([&](world&) -> task<> {
    auto f = co_await leat::file::open("/a", leat::open_mode::append);
    const std::string fresh(2000, 'n');
    co_await f.write_at(0, leat::as_bytes(fresh));
    failed = co_await throws<leat::failure>(f.sync());
    if (written_again) co_await f.write_at(0, leat::as_bytes(fresh));
    auto again = co_await leat::file::open("/a", leat::open_mode::append);
    co_await again.sync();
    co_await leat::sync_directory("/");
  });
  REQUIRE(failed);
  REQUIRE(w.files().read_file("/a") == std::string(2000, 'n'));  // the cache has it
  crash_and_restart(w);
  return w.files().read_file("/a").value();
}

TEST_CASE("file_system: no later sync restores writes that a failed sync lost") {
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    found.insert(found_behind_a_failed_sync(seed, false));
    REQUIRE(found_behind_a_failed_sync(seed, true) == std::string(2000, 'n'));
  }
  CHECK(found.size() == 16);  // every subset of four sectors
}

// Closes until close() succeeds, at most three times.
template <class Writer>
task<bool> closed(Writer& writer) {
  for (int i = 0; i < 3; ++i) {
    try {
      co_await writer.close();
      co_return true;
    } catch (const leat::failure&) {
    }
  }
  co_return false;
}

// For each call that fails with EIO: if `write` reports success, the file is complete after a
// crash. Returns the number of successes and of failures.
template <class Write>
std::pair<int, int> whole_where_closed(Write write, const std::string& expected) {
  int whole = 0;
  int given_up = 0;
  bool on_device = false;
  const auto run = [&](world& w) {
    w.files().write_file("/a", framed({"old"}));
    on_device = false;  // also if it fails before the close
    w.run([&](world&) -> task<> { on_device = co_await write("/a"); });
  };
  leat_test::for_each_operation({fault::io_error}, {0, 10}, run, [&](world& w, bool) {
    ++(on_device ? whole : given_up);
    if (!on_device) return;
    crash_and_restart(w);
    REQUIRE(w.files().read_file("/a") == expected);
  });
  return {whole, given_up};
}

// Opens the file, writes a long record and closes the file.
template <class Writer>
task<bool> write_long_record(std::string path) {
  auto writer = co_await Writer::open(std::move(path), {});
  co_await writer.write(leat::as_bytes(std::string_view(long_record)));
  co_return co_await closed(writer);
}

template <class Writer>
void check_successful_closes(const std::string& expected) {
  const auto [whole, given_up] = whole_where_closed(write_long_record<Writer>, expected);
  CHECK(whole > 10);
  CHECK(given_up > 10);
}

TEST_CASE("tfrecord_writer: a successful close makes everything durable after any failures") {
  check_successful_closes<leat::tfrecord_writer>(framed({long_record}));
}

TEST_CASE("tfrecord_appender: a successful close makes everything durable after any failures") {
  check_successful_closes<leat::tfrecord_appender>(framed({"old", long_record}));
}

}  // namespace failed_sync_test
