// Compares leat::event_record with protobuf's own reader and writer: equal bytes, equal values and
// equal errors.

#include "leat/codec/event/event.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <google/protobuf/stubs/logging.h>

#include "event.pb.h"
#include "leat/async/loop/block_on.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "oracle/generator.hpp"
#include "support/effort.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace event_test {

namespace oracle = leat::oracle;
using leat::event_record;
using leat::histogram_data;
using leat::session_log;
using leat::summary;
using leat_test::scaled_count;

void fill(oracle::HistogramProto& m, const histogram_data& h) {
  m.set_min(h.min);
  m.set_max(h.max);
  m.set_num(h.num);
  m.set_sum(h.sum);
  m.set_sum_squares(h.sum_squares);
  for (const double limit : h.bucket_limit) m.add_bucket_limit(limit);
  for (const double count : h.bucket) m.add_bucket(count);
}

// Parses serialized messages only for images, sound, tensors and metadata.
void fill(oracle::Summary::Value& m, const leat::summary_value& v) {
  m.set_tag(v.tag);
  if (const auto* const f = std::get_if<float>(&v.value)) m.set_simple_value(*f);
  if (const auto* const h = std::get_if<histogram_data>(&v.value)) fill(*m.mutable_histo(), *h);
  if (const auto* const o = std::get_if<leat::unparsed_value>(&v.value)) {
    switch (o->field) {
      case 3: m.set_obsolete_old_style_histogram(o->bytes); break;
      case 4: REQUIRE(m.mutable_image()->ParseFromString(o->bytes)); break;
      case 6: REQUIRE(m.mutable_audio()->ParseFromString(o->bytes)); break;
      case 8: REQUIRE(m.mutable_tensor()->ParseFromString(o->bytes)); break;
      default: FAIL("a field that the oracle does not know");
    }
  }
  if (!v.metadata.empty()) REQUIRE(m.mutable_metadata()->ParseFromString(v.metadata));
}

struct filler {
  oracle::Event& m;

  void operator()(std::monostate) const {}
  void operator()(const leat::file_version& v) const { m.set_file_version(v.text); }
  void operator()(const leat::serialized_graph& g) const { m.set_graph_def(g.bytes); }
  void operator()(const leat::serialized_meta_graph& g) const { m.set_meta_graph_def(g.bytes); }
  void operator()(const summary& s) const {
    m.mutable_summary();
    for (const leat::summary_value& v : s.values) fill(*m.mutable_summary()->add_value(), v);
  }
  void operator()(const leat::log_message& l) const {
    m.mutable_log_message()->set_level(static_cast<oracle::LogMessage::Level>(l.level));
    m.mutable_log_message()->set_message(l.message);
  }
  void operator()(const session_log& l) const {
    m.mutable_session_log()->set_status(static_cast<oracle::SessionLog::SessionStatus>(l.status));
    m.mutable_session_log()->set_checkpoint_path(l.checkpoint_path);
    m.mutable_session_log()->set_msg(l.message);
  }
  void operator()(const leat::tagged_run_metadata& t) const {
    m.mutable_tagged_run_metadata()->set_tag(t.tag);
    m.mutable_tagged_run_metadata()->set_run_metadata(t.bytes);
  }
};

oracle::Event to_message(const event_record& e) {
  oracle::Event m;
  m.set_wall_time(e.wall_time);
  m.set_step(e.step);
  std::visit(filler{m}, e.what);
  return m;
}

class generator : public oracle_test::generator_base {
 public:
  using generator_base::generator_base;

  std::string text() { return generator_base::text(5); }

  std::string bytes() {
    std::string all;
    for (auto n = below(20); n > 0; --n) all += static_cast<char>(below(256));
    return all;
  }
  double number() {
    constexpr double special[] = {0.0, -0.0, 1.0, std::numeric_limits<double>::infinity(), 1e300};
    return below(3) == 0 ? special[below(5)] : static_cast<double>(below(1'000'000)) / 997;
  }
  std::int64_t integer() {
    return below(2) == 0 ? static_cast<std::int64_t>(below(1000)) - 10
                         : static_cast<std::int64_t>(random_());
  }
  std::int32_t enumerator(std::uint64_t names) {
    return below(4) == 0 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(random_()))
                         : static_cast<std::int32_t>(below(names));
  }

  histogram_data histogram() {
    histogram_data h{number(), number(), number(), number(), number(), {}, {}};
    for (auto n = below(5); n > 0; --n) h.bucket_limit.push_back(number());
    for (auto n = below(5); n > 0; --n) h.bucket.push_back(number());
    return h;
  }

  leat::summary_value value() {
    leat::summary_value v;
    v.tag = text();
    switch (below(6)) {
      case 0: break;
      case 1: v.value = histogram(); break;
      case 2: {
        oracle::Summary::Image image;
        image.set_height(static_cast<int>(below(100)));
        image.set_encoded_image_string(bytes());
        v.value = leat::unparsed_value{4, image.SerializeAsString()};
        break;
      }
      case 3: v.value = leat::unparsed_value{3, bytes()}; break;
      default: v.value = static_cast<float>(number());
    }
    if (below(3) == 0) {
      oracle::SummaryMetadata m;
      m.set_display_name(text());
      m.mutable_plugin_data()->set_content(bytes());
      v.metadata = m.SerializeAsString();
    }
    return v;
  }

  event_record make() {
    event_record e;
    e.wall_time = number();
    e.step = integer();
    switch (below(9)) {
      case 0: e.what = leat::file_version{text()}; break;
      case 1: e.what = leat::serialized_graph{bytes()}; break;
      case 2: e.what = leat::serialized_meta_graph{bytes()}; break;
      case 3:
        e.what =
            leat::log_message{static_cast<leat::log_message::level_type>(enumerator(60)), text()};
        break;
      case 4:
        e.what = session_log{static_cast<session_log::status_type>(enumerator(4)), text(), text()};
        break;
      case 5: e.what = leat::tagged_run_metadata{text(), bytes()}; break;
      case 6: break;
      default: {
        summary s;
        for (auto n = below(4); n > 0; --n) s.values.push_back(value());
        e.what = std::move(s);
      }
    }
    return e;
  }
};

std::optional<event_record> read(const std::string& bytes) {
  try {
    return event_record::from_bytes(bytes);
  } catch (const leat::failure& e) {
    CHECK(e.code() == leat::errc::data_loss);
    return std::nullopt;
  }
}

// Removes the fields that leat does not keep.
oracle::Event comparable(oracle::Event m) {
  m.DiscardUnknownFields();
  if (m.has_summary()) {
    for (auto& v : *m.mutable_summary()->mutable_value()) v.clear_node_name();
  }
  return m;
}

TEST_CASE("event_record: writes the bytes of protobuf and reads them", "[oracle]") {
  generator g(1);
  for (auto n = scaled_count(20'000); n > 0; --n) {
    const event_record e = g.make();
    const std::string bytes = to_message(e).SerializeAsString();
    REQUIRE(e.to_bytes() == bytes);
    REQUIRE(event_record::from_bytes(bytes).to_bytes() == bytes);
  }
}

TEST_CASE("event_record: corrupt bytes are read like protobuf or refused", "[oracle]") {
  const google::protobuf::LogSilencer quiet;  // protobuf logs invalid UTF-8
  generator g(2);
  std::uint64_t refused = 0;
  std::uint64_t same = 0;
  for (auto n = scaled_count(100'000); n > 0; --n) {
    std::string bytes = g.make().to_bytes();
    if (g.below(3) == 0) bytes += g.make().to_bytes();
    for (auto n = g.below(3); n > 0; --n) g.damage(bytes);
    INFO(Catch::Detail::stringify(std::vector<int>(bytes.begin(), bytes.end())));
    const auto found = read(bytes);
    REQUIRE(found.has_value() == oracle::CarriedEvent().ParseFromString(bytes));
    oracle::Event m;
    if (!m.ParseFromString(bytes)) {
      ++refused;
      continue;
    }
    oracle::Event again;
    REQUIRE(again.ParseFromString(found->to_bytes()));
    REQUIRE(comparable(again).SerializeAsString() == comparable(m).SerializeAsString());
    ++same;
  }
  CHECK(refused > scaled_count(10'000));
  CHECK(same > scaled_count(30'000));
}

TEST_CASE("event_writer: writes events that protobuf reads", "[oracle]") {
  const temp_dir dir;
  std::string path;
  leat::block_on([](std::string at, std::string& to) -> leat::task<> {
    co_await leat::with_event_writer(at, [&](leat::event_writer& writer) -> leat::task<> {
      co_await writer.add_session_log(session_log::start, 7);
      for (int step = 7; step < 10; ++step) {
        co_await writer.add_scalar("loss", 1.0 / step, step);
        const std::vector<double> weights{-3, 0.5, 0.5, 2.0 * step};
        co_await writer.add_histogram("weights", weights, step);
      }
      co_await writer.add_session_log(session_log::stop);
      co_await writer.flush();
      to = writer.path();
    });
  }(dir / "run", path));
  std::vector<oracle::Event> events;
  for (const std::string& record : leat::block_on(leat_test::read_records(path))) {
    REQUIRE(events.emplace_back().ParseFromString(record));
  }
  REQUIRE(events.size() == 9);
  CHECK(events[0].file_version() == "brain.Event:2");
  CHECK(events[1].session_log().status() == oracle::SessionLog::START);
  CHECK(events[1].step() == 7);
  CHECK(events[2].summary().value(0).tag() == "loss");
  CHECK(events[2].summary().value(0).simple_value() == static_cast<float>(1.0 / 7));
  const oracle::HistogramProto& h = events[3].summary().value(0).histo();
  CHECK(h.num() == 4);
  CHECK(h.min() == -3);
  CHECK(h.max() == 14);
  CHECK(h.sum() == 12);
  CHECK(h.bucket_size() == h.bucket_limit_size());
  CHECK(events[8].session_log().status() == oracle::SessionLog::STOP);
  CHECK(events[8].step() == 0);
}

}  // namespace event_test
