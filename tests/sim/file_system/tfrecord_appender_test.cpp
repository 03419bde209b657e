// Appends to a TFRecord file on a file system that fails and crashes. Either all records are
// appended, or none.

#include "leat/io/writer/tfrecord_appender.hpp"

#include <set>

#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/texts.hpp"

namespace tfrecord_appender_test {

using leat::sim::fault;
using leat::sim::planned_fault;
using leat::sim::world;
using leat_test::framed;
using texts = std::vector<std::string>;

texts numbered(const std::string& what, int count) {
  texts all;
  for (int i = 0; i < count; ++i) {
    all.push_back(what + leat_test::noise(40, static_cast<std::uint64_t>(i)));
  }
  return all;
}

const texts old_records = numbered("old ", 20);
const texts new_records = numbered("new ", 40);
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
  std::optional<leat::tfrecord_appender> appender;
  while (!appender) {
    try {
      appender.emplace(co_await leat::tfrecord_appender::open("/a", small));
    } catch (const leat::failure&) {
      ++failures;
    }
  }
  for (const std::string& r : new_records) {
    try {
      co_await appender->write(leat::as_bytes(r));
    } catch (const leat::failure&) {
      ++failures;  // the record is accepted
    }
  }
  const auto close = [&] { return appender->close(); };
  co_await leat_test::retry_until_success(close, failures);
}

TEST_CASE("tfrecord_appender: a retry appends all after the n-th call fails, except a sync") {
  int failed = 0;
  int in_vain = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    world w(7, {.files = {.plan = planned_fault{n, fault::io_error}}});
    w.files().write_file("/a", old_file);
    const bool appended =
        leat_test::succeeds([&] { w.run([&](world&) { return append_and_insist(failed); }); });
    reached = w.files().calls() >= n;
    if (!appended) ++in_vain;
    REQUIRE(w.files().read_file("/a") == (appended ? new_file : old_file));
    REQUIRE(w.files().files() == texts{"/a"});
  }
  CHECK(failed > 10);
  CHECK(in_vain == 1);
}

TEST_CASE("tfrecord_appender: the old file remains after the n-th call fails without a retry") {
  for (const fault f : {fault::io_error, fault::no_space, fault::short_transfer,
                        fault::cancelled_late, fault::interrupted}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(7, {.files = {.plan = planned_fault{n, f}}});
      w.files().write_file("/a", old_file);
      bool failed = false;
      try {
        w.run([](world&) { return append_all("/a"); });
      } catch (const leat::failure&) {
        failed = true;
      }
      reached = w.files().calls() >= n;
      const std::string found = w.files().read_file("/a").value();
      // If only the sync of the directory fails, the file has the new records.
      REQUIRE((found == old_file || found == new_file));
      REQUIRE((failed || found == new_file));
      REQUIRE(w.files().files() == texts{"/a"});
    }
  }
}

TEST_CASE("tfrecord_appender: a full disk leaves the old file") {
  world w(1, {.files = {.size = old_file.size() + 1000}});
  w.files().write_file("/a", old_file);
  std::error_code code;
  try {
    w.run([](world&) { return append_all("/a"); });
  } catch (const leat::failure& e) {
    code = e.code();
  }
  CHECK(code == errc::resource_exhausted);
  CHECK(w.files().read_file("/a") == old_file);
  CHECK(w.files().files() == texts{"/a"});
}

TEST_CASE(
    "tfrecord_appender: after a crash the old records exist, and a roll back keeps old or all") {
  std::set<std::string> outcomes;
  std::size_t rolled_back = 0;
  std::size_t torn = 0;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        world w(seed, {.files = {.plan = planned_fault{n, f}}});
        w.files().write_file("/a", old_file);
        bool closed = false;
        try {
          w.run([&](world&) -> task<> {
            co_await append_all("/a");
            closed = true;
          });
        } catch (const leat::failure&) {
        }
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
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
      }
    }
  }
  CHECK(outcomes.size() == 2);
  CHECK(rolled_back > seeds);
  CHECK(torn > seeds);
}

TEST_CASE("roll_back_append: a second call completes a call that a crash interrupted") {
  std::size_t crashes = 0;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        world w(seed, {.files = {.plan = planned_fault{n, f}}});
        w.files().write_file("/a", new_file.substr(0, old_file.size() + 100));
        w.files().write_file("/a.append", std::to_string(old_file.size()) + "\n");
        const auto roll_back = [](world&) -> task<> { co_await leat::roll_back_append("/a"); };
        try {
          w.run(roll_back);
        } catch (const leat::failure&) {
        }
        reached = w.files().calls() >= n;
        if (w.files().crashed()) {
          ++crashes;
          w.files().restart();
        }
        w.run(roll_back);
        REQUIRE(w.files().read_file("/a") == old_file);
        REQUIRE(w.files().files() == texts{"/a"});
      }
    }
  }
  CHECK(crashes > 2 * seeds);
}

}  // namespace tfrecord_appender_test
