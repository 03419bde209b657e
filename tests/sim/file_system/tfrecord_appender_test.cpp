// Appends to a TFRecord file on a file system that fails and crashes. Either all records are
// appended, or none.

#include "leat/io/writer/tfrecord_appender.hpp"

#include <set>

#include "leat/sim/world/world.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/effort.hpp"
#include "support/records/record_bytes.hpp"

namespace tfrecord_appender_test {

using leat::sim::fault;
using leat::sim::world;
using leat_test::for_each_operation;
using leat_test::framed;
using leat_test::texts;

const texts old_records = leat_test::noisy("old ", 20, 40);
const texts new_records = leat_test::noisy("new ", 40, 40);
const std::string old_file = framed(old_records);
const std::string new_file = old_file + framed(new_records);
// The number of seeds for each point of a crash.
constexpr std::uint64_t seeds = leat_test::slow_build ? 3 : 20;
constexpr leat::tfrecord_appender_options small{.buffer_size = 600};

task<> append_all(std::string path) {
  auto appender = co_await leat::tfrecord_appender::open(std::move(path), small);
  for (const std::string& r : new_records) co_await appender.write(leat::as_bytes(r));
  co_await appender.close();
}

task<> append_and_insist(int& failures) {
  const auto open = [] { return leat::tfrecord_appender::open("/a", small); };
  return leat_test::write_and_insist<leat::tfrecord_appender>(open, new_records, failures);
}

TEST_CASE("tfrecord_appender: a retry appends all after the n-th call fails, except a sync") {
  int failed = 0;
  int in_vain = 0;
  const auto run = [&](world& w) {
    w.files().write_file("/a", old_file);
    w.run([&](world&) { return append_and_insist(failed); });
  };
  for_each_operation({fault::io_error}, {}, run, [&](world& w, bool appended) {
    if (!appended) ++in_vain;
    REQUIRE(w.files().read_file("/a") == (appended ? new_file : old_file));
    REQUIRE(w.files().files() == texts{"/a"});
  });
  CHECK(failed > 10);
  CHECK(in_vain == 1);
}

// Appends to a file with the old records.
void append_to_old(world& w) {
  w.files().write_file("/a", old_file);
  w.run([](world&) { return append_all("/a"); });
}

TEST_CASE("tfrecord_appender: the old file remains after the n-th call fails without a retry") {
  const auto check = [](world& w, bool succeeded) {
    const std::string found = w.files().read_file("/a").value();
    // If only the sync of the directory fails, the file has the new records.
    REQUIRE((found == old_file || found == new_file));
    REQUIRE((!succeeded || found == new_file));
    REQUIRE(w.files().files() == texts{"/a"});
  };
  for_each_operation({fault::io_error, fault::no_space, fault::short_transfer,
                      fault::cancelled_late, fault::interrupted},
                     {}, append_to_old, check);
}

TEST_CASE("tfrecord_appender: a full disk leaves the old file") {
  world w(1, {.files = {.size = old_file.size() + 1000}});
  CHECK(code_of([&] { append_to_old(w); }) == errc::resource_exhausted);
  CHECK(w.files().read_file("/a") == old_file);
  CHECK(w.files().files() == texts{"/a"});
}

TEST_CASE(
    "tfrecord_appender: after a crash the old records exist, and a roll back keeps old or all") {
  std::set<std::string> outcomes;
  std::size_t rolled_back = 0;
  std::size_t torn = 0;
  const auto check = [&](world& w, bool closed) {
    if (!w.files().crashed()) return;
    w.files().restart();
    const std::string before = w.files().read_file("/a").value();
    REQUIRE(before.substr(0, old_file.size()) == old_file);
    if (before != old_file && before != new_file) ++torn;
    w.run([&](world&) -> task<> {
      const bool was = co_await leat::roll_back_append("/a");
      if (was) ++rolled_back;
      REQUIRE_FALSE((was && closed));
    });
    const std::string found = w.files().read_file("/a").value();
    REQUIRE((found == old_file || found == new_file));
    REQUIRE((!closed || found == new_file));
    REQUIRE(w.files().files() == texts{"/a"});
    outcomes.insert(found);
    w.run([&](world&) { return append_all("/a"); });
    REQUIRE(w.files().read_file("/a") == found + framed(new_records));
  };
  for_each_operation({fault::crash_before, fault::crash_after}, {0, seeds}, append_to_old, check);
  CHECK(outcomes.size() == 2);
  CHECK(rolled_back > seeds);
  CHECK(torn > seeds);
}

TEST_CASE("roll_back_append: a second call completes a call that a crash interrupted") {
  std::size_t crashes = 0;
  const auto roll_back = [](world&) -> task<> { co_await leat::roll_back_append("/a"); };
  const auto run = [&](world& w) {
    w.files().write_file("/a", new_file.substr(0, old_file.size() + 100));
    w.files().write_file("/a.append", std::to_string(old_file.size()) + "\n");
    w.run(roll_back);
  };
  const auto check = [&](world& w, bool) {
    if (w.files().crashed()) {
      ++crashes;
      w.files().restart();
    }
    w.run(roll_back);
    REQUIRE(w.files().read_file("/a") == old_file);
    REQUIRE(w.files().files() == texts{"/a"});
  };
  for_each_operation({fault::crash_before, fault::crash_after}, {0, seeds}, run, check);
  CHECK(crashes > 2 * seeds);
}

}  // namespace tfrecord_appender_test
