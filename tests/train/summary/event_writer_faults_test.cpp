// Events on a file system that fails and crashes: accepted events are written once the disk allows
// it, and a reader always finds a prefix of the added events.

#include <algorithm>

#include "leat/sim/world/world.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "support/records/event_files.hpp"
#include "train/in_world.hpp"

namespace event_writer_faults_test {

using leat::event_writer;
using leat::sim::fault;
using leat::sim::planned_fault;
using leat::sim::world;
using leat_test::events_of;
using leat_test::in_world;
using leat_test::retry_until_success;
using leat_test::words_of;
using texts = std::vector<std::string>;

constexpr std::uint64_t seeds = leat_test::slow_build ? 3 : 20;
constexpr int count = 30;

texts expected_words() {
  texts all{"version"};
  for (int i = 1; i <= count; ++i) all.push_back("loss " + std::to_string(i));
  return all;
}

// Retries each add and the close until they succeed. Returns the number of failures.
task<int> write_all() {
  int refused = 0;
  leat::event_writer_options options;
  options.buffer_size = 200;
  options.flush_interval = 1s;
  std::optional<event_writer> writer;
  const auto open = [&]() -> task<> { writer.emplace(co_await event_writer::open("/d", options)); };
  co_await retry_until_success(open, refused);
  for (int i = 1; i <= count; ++i) {
    const auto add = [&, before = refused]() -> task<> {
      if (refused > before) co_await leat::sleep_for(2s);  // until the writer has retried
      co_await writer->add_scalar("loss", i, i);
    };
    co_await retry_until_success(add, refused);
  }
  co_await retry_until_success([&] { return writer->close(); }, refused);
  co_return refused;
}

TEST_CASE("event_writer: writes accepted events once after the n-th call fails, for every n",
          "[train]") {
  int refused = 0;
  for (const fault f : {fault::io_error, fault::no_space, fault::short_transfer,
                        fault::cancelled_late, fault::interrupted}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(7, {.files = {.plan = planned_fault{n, f}}});
      w.run([&](world&) -> task<> { refused += co_await write_all(); });
      reached = w.files().calls() >= n;
      REQUIRE(words_of(events_of(w)) == expected_words());
      REQUIRE(w.files().files().size() == 1);
      REQUIRE(w.files().open_files() == 0);
    }
  }
  CHECK(refused > 10);
}

TEST_CASE("event_writer: writes accepted events once despite many faults", "[train]") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    leat::sim::fault_rates rates;
    rates.short_transfer = 0.2;
    rates.interrupted = 0.1;
    rates.again = 0.1;
    rates.cancelled_late = 0.05;
    rates.io_error = 0.05;
    rates.no_space = 0.1;
    world w(seed, {.files = {.faults = rates}});
    w.run([&](world&) -> task<> { static_cast<void>(co_await write_all()); });
    REQUIRE(words_of(events_of(w)) == expected_words());
  }
}

TEST_CASE("event_writer: the next add reports a full disk, and memory stays bounded", "[train]") {
  world w(1, {.files = {.size = 1000}});
  w.run([](world& here) -> task<> {
    leat::event_writer_options options;
    options.buffer_size = 100;
    auto writer = co_await event_writer::open("/d", options);
    std::string said;
    std::uint64_t refused = 0;
    for (int i = 1; i <= 1000; ++i) {
      try {
        co_await writer.add_scalar("loss", i, i);
      } catch (const leat::failure& e) {
        CHECK(e.code() == errc::resource_exhausted);
        said = e.what();
        ++refused;
      }
    }
    CHECK(contains(said, writer.path()));
    CHECK(refused > 900);
    said.clear();
    for (int i = 0; i < 2; ++i) {  // both calls fail in the same way
      try {
        co_await writer.close();
      } catch (const leat::failure& e) {
        CHECK(e.code() == errc::resource_exhausted);
        said = e.what();
      }
      CHECK(contains(said, writer.path()));
    }
    CHECK(co_await code_of(writer.add_scalar("late", 1)) == errc::failed_precondition);
    // The written events can be read.
    const leat::event_run run = co_await leat::read_events("/d");
    const auto& points = run.series.scalars.at("loss");
    CHECK(points.size() > 10);
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(points[i].step == static_cast<std::int64_t>(i) + 1);
    }
    CHECK(points.size() <= writer.events_added());
    CHECK(here.files().files().size() == 1);
  });
}

TEST_CASE(
    "event_writer: after a crash a reader finds a prefix of the events, up to a durable flush",
    "[train]") {
  std::size_t torn = 0;
  std::size_t crashes = 0;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        world w(seed, {.files = {.plan = planned_fault{n, f}}});
        int flushed = 0;
        const auto train = [&](world&) -> task<> {
          leat::event_writer_options options;
          options.buffer_size = 300;
          co_await leat::with_event_writer("/d", options, [&](event_writer& writer) -> task<> {
            for (int i = 1; i <= count; ++i) {
              co_await writer.add_scalar("loss", i, i);
              if (i % 10 != 0) continue;
              co_await writer.flush(true);
              flushed = i;
            }
          });
        };
        try {
          w.run(train);
        } catch (const leat::failure&) {
        }
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
        ++crashes;
        w.files().restart();
        if (w.files().files().empty()) {
          REQUIRE(flushed == 0);
          continue;
        }
        // Sectors that were not synced may be lost or torn; the earlier sectors are intact.
        texts words = words_of(events_of(w));
        if (words.size() < static_cast<std::size_t>(count) + 1) ++torn;
        const texts all = expected_words();
        REQUIRE(words.size() <= all.size());
        REQUIRE(std::equal(words.begin(), words.end(), all.begin()));
        REQUIRE((flushed == 0 || words.size() > static_cast<std::size_t>(flushed)));
        // The next run writes another file.
        w.set_identity({"sim", 2});
        w.run([](world&) -> task<> {
          co_await leat::with_event_writer("/d", [](event_writer& writer) -> task<> {
            co_await writer.add_session_log(leat::session_log::start, 5);
          });
        });
        REQUIRE(w.files().files().size() == 2);
      }
    }
  }
  CHECK(crashes > 10 * seeds);
  CHECK(torn > seeds);
}

TEST_CASE("event_writer: after close an add throws, and its event is counted as dropped",
          "[train]") {
  in_world([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    co_await writer.add_scalar("a", 1);
    co_await writer.close();
    CHECK(contains(co_await message_of(writer.add_scalar("b", 1), errc::failed_precondition),
                   "/d: event added after close() is lost"));
    CHECK(co_await code_of(writer.add_session_log(leat::session_log::stop)) ==
          errc::failed_precondition);
    CHECK(co_await code_of(writer.add_run_metadata("", "tag")) == errc::failed_precondition);
    co_await writer.flush();
    CHECK(writer.events_added() == 1);
    CHECK(writer.events_dropped() == 3);
    co_await writer.reopen();
    co_await writer.add_run_metadata("", "tag");  // the tag is still free
    co_await writer.close();
    const texts words = words_of(events_of(here));
    REQUIRE(words.size() == 4);
    CHECK(words[1] == "a");
  });
}

}  // namespace event_writer_faults_test
