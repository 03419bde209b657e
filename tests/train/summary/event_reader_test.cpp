#include "leat/train/summary/event_reader.hpp"

#include <algorithm>
#include <filesystem>

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace event_reader_test {

using leat::event_record;
using leat::event_writer;
using leat::session_log;
using leat::summary;
using leat::sim::world;
using leat_test::framed;
using texts = std::vector<std::string>;
using steps = std::vector<std::int64_t>;

template <class Points>
steps steps_of(const Points& points) {
  steps all;
  for (const auto& p : points) all.push_back(p.step);
  return all;
}

std::string scalar(std::string tag, std::int64_t step, double value = 1) {
  return event_record{static_cast<double>(step), step, summary().add_scalar(std::move(tag), value)}
      .to_bytes();
}

std::string start(std::int64_t step) {
  return event_record{0, step, session_log{session_log::start, {}, {}}}.to_bytes();
}

std::string version(const char* text = "brain.Event:2") {
  return event_record{0, 0, leat::file_version{text}}.to_bytes();
}

// Returns the message of the error of reading the directory.
std::string refusal_of(world& w, leat::event_reader_options options, errc expected) {
  return leat_test::refusal(
      [&] {
        w.run([&](world&) -> task<> {
          static_cast<void>(co_await leat::read_events("/d", std::move(options)));
        });
      },
      expected);
}

leat::event_run read(world& w, leat::event_reader_options options = {}) {
  leat::event_run run;
  w.run([&](world&) -> task<> { run = co_await leat::read_events("/d", std::move(options)); });
  return run;
}

TEST_CASE("event_reader: a restart discards values of its step and later steps [89]", "[train]") {
  world w(1);
  const auto train = [](std::int64_t from, std::int64_t to, double value) -> task<> {
    auto writer = co_await event_writer::open("/d");
    co_await writer.add_session_log(session_log::start, from);
    co_await writer.flush();
    for (std::int64_t step = std::max<std::int64_t>(from, 1); step <= to; ++step) {
      co_await writer.add_scalar("loss", value, step);
      const std::vector<double> weights{value, 2 * value};
      co_await writer.add_histogram("w", weights, step);
    }
    co_await writer.close();
  };
  w.run([&](world& here) -> task<> {
    co_await train(0, 100, 1);
    here.set_identity({"sim", 2});  // another process, after a crash
    co_await train(60, 80, 2);
  });
  const leat::event_run run = read(w);
  CHECK(run.files.size() == 2);
  CHECK(run.series.discarded == 2 * 41);
  const auto& loss = run.series.scalars.at("loss");
  REQUIRE(loss.size() == 80);
  for (std::size_t i = 0; i < 80; ++i) {
    CHECK(loss[i].step == static_cast<std::int64_t>(i) + 1);
    CHECK(loss[i].value == (i < 59 ? 1.0F : 2.0F));
  }
  const auto& weights = run.series.histograms.at("w");
  REQUIRE(weights.size() == 80);
  CHECK(weights.back().value.max == 4);
  CHECK(run.series.events == 2 + 2 + 200 + 42);
}

TEST_CASE("event_accumulator: only the second start discards", "[train]") {
  leat::event_accumulator c;
  for (const std::string& bytes : {version(), scalar("a", 5), start(3), scalar("a", 6), start(6),
                                   scalar("a", 6, 2), scalar("b", 9), start(9)}) {
    c.add(event_record::from_bytes(bytes));
  }
  CHECK(steps_of(c.series().scalars.at("a")) == steps{5, 6});
  CHECK(c.series().scalars.at("a")[1].value == 2);
  CHECK_FALSE(c.series().scalars.contains("b"));
  CHECK(c.series().discarded == 2);
}

TEST_CASE("event_accumulator: a resumed run without a start replaces its series", "[train]") {
  for (const char* const v : {"brain.Event:1", "brain.Event:2"}) {
    leat::event_accumulator c;
    for (const std::string& bytes :
         {version(v), scalar("a", 1), scalar("b", 2), scalar("a", 3), scalar("b", 4),
          scalar("a", 5), version(v), scalar("a", 3, 2), scalar("a", 4, 2)}) {
      c.add(event_record::from_bytes(bytes));
    }
    const auto& a = c.series().scalars.at("a");
    CHECK(steps_of(a) == steps{1, 3, 4});
    CHECK(a[1].value == 2);
    CHECK(steps_of(c.series().scalars.at("b")) == steps{2, 4});  // not yet written again
    CHECK(c.series().discarded == 2);
  }
}

TEST_CASE("event_accumulator: a tag has one value of each step, the last one", "[train]") {
  leat::event_accumulator c;
  c.add({1, 7, summary().add_scalar("a", 1).add_scalar("a", 2)});
  c.add({2, 7, summary().add_scalar("a", 3)});
  c.add({3, -1, summary().add_scalar("b", 4)});
  c.add({4, -2, summary().add_scalar("b", 5)});
  const auto& series = c.series().scalars;
  CHECK(series.at("a") == std::vector<leat::scalar_point>{{7, 2, 3}});
  CHECK(series.at("b") == std::vector<leat::scalar_point>{{-2, 4, 5}});
  CHECK(c.series().discarded == 3);
}

TEST_CASE("event_accumulator: scalars and histograms of one tag are different series", "[train]") {
  const std::vector<double> weights{1, 2};
  leat::event_accumulator c;
  c.add({1, 7, summary().add_scalar("a", 1)});
  c.add({2, 5, summary().add_histogram("a", weights)});
  c.add({3, 4, summary().add_histogram("a", weights)});
  CHECK(steps_of(c.series().scalars.at("a")) == steps{7});
  CHECK(steps_of(c.series().histograms.at("a")) == steps{4});
}

TEST_CASE("event_accumulator: values that replace others do not count towards the limit",
          "[train]") {
  leat::event_accumulator c(2);
  for (int i = 0; i < 10; ++i) c.add({0, i % 2, summary().add_scalar("a", i)});
  CHECK(steps_of(c.series().scalars.at("a")) == steps{0, 1});
  CHECK_THROWS_AS(c.add({0, 2, summary().add_scalar("a", 0)}), leat::failure);
}

TEST_CASE("event_reader: reads only event files, in the order of their names", "[train]") {
  world w(1);
  w.files().write_file("/d/events.out.tfevents.0000000002.b", framed({version(), scalar("a", 2)}));
  w.files().write_file("/d/events.out.tfevents.0000000001.z", framed({version(), scalar("a", 1)}));
  w.files().write_file("/d/my.tfevents", framed({scalar("a", 3)}));
  w.files().write_file("/d/checkpoint", "no record");
  w.files().make_directory("/d/tfevents.directory");
  const leat::event_run run = read(w);
  CHECK(steps_of(run.series.scalars.at("a")) == steps{1, 2, 3});
  CHECK(run.files.size() == 3);
  CHECK(run.unwritten == 0);
}

TEST_CASE("event_reader: a truncated last record counts as not yet written", "[train]") {
  const std::string whole = framed({version(), scalar("a", 1)});
  const std::string more = whole + framed({scalar("a", 2)});
  for (std::size_t size = whole.size(); size < more.size(); ++size) {
    world w(1);
    w.files().write_file("/d/tfevents", more.substr(0, size));
    const leat::event_run run = read(w);
    REQUIRE(steps_of(run.series.scalars.at("a")) == steps{1});
    REQUIRE(run.unwritten == size - whole.size());
  }
}

TEST_CASE("event_reader: corruption is an error that names file and record, or is skipped",
          "[train]") {
  world w(1);
  std::string bytes = framed({version(), scalar("a", 1), "\xff\xff\xff", scalar("a", 2)});
  w.files().write_file("/d/tfevents.1", bytes);
  CHECK(contains(refusal_of(w, {}, errc::data_loss),
                 "/d/tfevents.1, record 2 at offset 70: event of 3 bytes is corrupt"));
  bytes[60] ^= 1;
  w.files().write_file("/d/tfevents.1", bytes);
  CHECK(contains(refusal_of(w, {}, errc::data_loss), "/d/tfevents.1, record 1 at offset"));

  int reports = 0;
  leat::event_reader_options options;
  options.corruption.policy = leat::corruption_policy::skip_record;
  options.corruption.on_report = [&](const leat::corruption_report& r) {
    ++reports;
    CHECK(r.path == "/d/tfevents.1");
    if (r.index == 2) CHECK(r.skipped == 3 + leat::tfrecord_overhead);
  };
  const leat::event_run run = read(w, options);
  CHECK(steps_of(run.series.scalars.at("a")) == steps{2});
  CHECK(run.skipped == 2);
  CHECK(reports == 2);
}

TEST_CASE("event_reader: limits on records, values and points", "[train]") {
  world w(1);
  w.files().write_file("/d/tfevents", framed({scalar("a", 1), scalar("a", 2), scalar("b", 3)}));
  leat::event_reader_options few;
  few.max_points = 2;
  const std::string few_said = refusal_of(w, few, errc::resource_exhausted);
  CHECK(contains(few_said, "record 2 at offset"));
  CHECK(contains(few_said, "more than 2 values: raise event_reader_options::max_points"));
  leat::event_reader_options small;
  small.max_record_size = 10;
  CHECK_FALSE(refusal_of(w, small, errc::resource_exhausted).empty());
  leat::event_reader_options none;
  none.limits.max_values = 0;
  CHECK_FALSE(refusal_of(w, none, errc::resource_exhausted).empty());
  CHECK(read(w).series.scalars.size() == 2);
}

TEST_CASE("event_reader: a directory without events is an error unless subdirectories have events",
          "[train]") {
  world w(1);
  w.files().write_file("/d/x", "");
  CHECK(contains(refusal_of(w, {}, errc::not_found), "/d: no event file"));
  w.files().write_file("/r/b/tfevents", "");
  w.files().write_file("/r/a/deep/er/tfevents", "");
  w.files().write_file("/r/a/other", "");
  w.files().write_file("/r/tfevents", "");
  w.run([](world&) -> task<> {
    const texts runs = co_await leat::find_event_runs("/r");
    CHECK(runs == texts{"/r", "/r/a/deep/er", "/r/b"});
    const texts none = co_await leat::find_event_runs("/d");
    CHECK(none.empty());
  });
}

TEST_CASE("event_reader: a directory that links lead to again is one run, with its shortest path",
          "[train]") {
  const temp_dir d;
  std::filesystem::create_directories(d / "a/deep/er");
  std::filesystem::create_directories(d / "b");
  for (const char* const run : {"tfevents", "a/deep/er/tfevents", "b/tfevents"}) d.write(run, "");
  for (const auto& [name, target] : {std::pair{"x", "."},
                                     {"y", "."},
                                     {"a/deep/up", "../.."},
                                     {"b/near", "../a/deep/er"},
                                     {"c", "b"},
                                     {"self", "self"},
                                     {"nowhere", "missing"}}) {
    std::filesystem::create_symlink(target, d / name);
  }
  const texts runs = leat::block_on(leat::find_event_runs(d.path()));
  CHECK(runs == texts{d.path(), d / "b", d / "b/near"});
  const texts of_link = leat::block_on(leat::find_event_runs(d / "x"));
  CHECK(of_link == texts{d / "x", d / "x/b", d / "x/b/near"});
}

TEST_CASE("event_reader: rejects an empty path", "[train]") {
  world w(1);
  const auto read_nothing = [&] {
    w.run([](world&) -> task<> { static_cast<void>(co_await leat::read_events("")); });
  };
  const auto find_nothing = [&] {
    w.run([](world&) -> task<> { static_cast<void>(co_await leat::find_event_runs("")); });
  };
  CHECK(contains(leat_test::refusal(read_nothing, errc::invalid_argument),
                 "path of the directory is empty"));
  CHECK(contains(leat_test::refusal(find_nothing, errc::invalid_argument),
                 "path of the directory is empty"));
}

}  // namespace event_reader_test
