// Cuts a file of events at every byte and flips every bit. The reader returns the events before the
// damage and, if the caller asks for them, the intact events after it. It never returns an event
// that was not written, and it reports every damage.

#include "faults/damage_effort.hpp"
#include "faults/damaged_files.hpp"
#include "leat/base/random.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace event_damage_test {

using leat::corruption_policy;
using leat::event_record;
using leat::event_run;
using leat::event_series;
using namespace leat_test::damaged;

struct sample {
  std::vector<event_record> events;
  std::vector<std::size_t> ends;  // of their records, in bytes
  std::string bytes;
};

// Events of a run that continues after a crash: its second session repeats steps of the first one.
sample events_of(std::size_t bytes) {
  leat::random_engine random(11);
  sample s;
  const auto add = [&s](event_record e) {
    s.bytes += leat_test::framed({e.to_bytes()});
    s.ends.push_back(s.bytes.size());
    s.events.push_back(std::move(e));
  };
  const auto session = [](std::int64_t step) {
    return event_record{1, step, leat::session_log{leat::session_log::start, {}, {}}};
  };
  add(event_record{0, 0, leat::file_version{}});
  add(session(1));
  bool again = false;
  for (std::int64_t step = 1; s.bytes.size() < bytes; ++step) {
    const double value = static_cast<double>(random.uniform_below(1000)) / 8;
    leat::summary values;
    values.add_scalar(step % 3 == 0 ? "loss" : "rate", value);
    if (step % 8 == 0) values.add_histogram("weights", std::vector<double>{value, -value, 1});
    add(event_record{static_cast<double>(step), step, std::move(values)});
    if (again || s.bytes.size() < bytes / 2) continue;
    again = true;
    step -= step / 4;
    add(session(step));
  }
  return s;
}

// Returns the series of the events [0, left_out) and (left_out, count).
event_series series_of(const sample& s, std::size_t left_out, std::size_t count) {
  leat::event_accumulator collector;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != left_out) collector.add(s.events[i]);
  }
  return collector.take();
}

std::size_t whole_before(const sample& s, std::size_t at) {
  std::size_t count = 0;
  while (count < s.ends.size() && s.ends[count] <= at) ++count;
  return count;
}

event_run read(const std::string& directory, corruption_policy policy) {
  leat::event_reader_options options;
  options.corruption.policy = policy;
  return leat::block_on(leat::read_events(directory, std::move(options)));
}

void try_bits(const std::string& directory, sample_file& f, const sample& s, std::size_t stride) {
  std::size_t record = s.ends.size();  // that `before` and `others` exclude
  event_series before;
  event_series others;
  for (std::size_t bit = 0; bit < s.bytes.size() * 8; bit += stride) {
    if (const std::size_t now = whole_before(s, bit / 8); now != record) {
      record = now;
      before = series_of(s, record, record);
      others = series_of(s, record, s.events.size());
    }
    f.flip(bit);
    INFO("bit " << bit << " of record " << record);
    const std::string said = leat_test::refusal(
        [&] { return read(directory, corruption_policy::fail); }, errc::data_loss);
    REQUIRE(contains(said, "record " + std::to_string(record)));
    const event_run until = read(directory, corruption_policy::skip_file);
    REQUIRE(until.series == before);
    REQUIRE(until.skipped == 1);
    const event_run around = read(directory, corruption_policy::resync);
    REQUIRE(around.series == others);
    REQUIRE(around.skipped == 1);
    f.flip(bit);
  }
}

void try_cuts(const std::string& directory, sample_file& f, const sample& s, std::size_t stride) {
  for (std::size_t left = s.bytes.size(); left > 0;) {
    left -= std::min(left, stride);
    f.cut(left);
    const std::size_t count = whole_before(s, left);
    INFO("cut at " << left);
    const event_run run = read(directory, corruption_policy::fail);
    REQUIRE(run.series == series_of(s, s.events.size(), count));
    REQUIRE(run.unwritten == left - (count == 0 ? 0 : s.ends[count - 1]));
  }
}

void check(std::size_t size, bool each) {
  const temp_dir dir;
  const sample s = events_of(size);
  sample_file f(dir / "events.out.tfevents.1", s.bytes);
  // A slow build flips every third bit, so consecutive bytes have different bits flipped.
  const std::size_t bits =
      each ? (leat_test::slow_build ? 3 : 1) : stride_for(s.bytes.size() * 8, 4 * s.bytes.size());
  const std::size_t cuts = each ? 1 : stride_for(s.bytes.size(), s.bytes.size());
  tell("events", s.bytes.size(), bits, cuts);
  REQUIRE(read(dir.path(), corruption_policy::fail).series ==
          series_of(s, s.events.size(), s.events.size()));
  try_bits(dir.path(), f, s, bits);
  try_cuts(dir.path(), f, s, cuts);
}

TEST_CASE("damage: every bit and every cut of a file of events", "[faults]") {
  check(leat_test::slow_build ? 300 : 900, true);
}

TEST_CASE("damage: every bit and every cut of a large file of events", "[faults]") {
  check(sample_size(), false);
}

}  // namespace event_damage_test
