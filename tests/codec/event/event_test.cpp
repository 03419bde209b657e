// protobuf's own compiler generated the expected bytes from the published definitions.

#include "leat/codec/event/event.hpp"

#include <cmath>
#include <limits>

#include "support/hex.hpp"
#include "support/records/record_bytes.hpp"
#include "tensor/plain_test.hpp"

namespace event_test {

using leat::event_record;
using leat::session_log;
using leat::summary;

constexpr double wall = 1'500'000'000.5;

struct golden {
  event_record what;
  std::string payload;
  std::string header;
  std::string footer;
};

std::vector<golden> golden_table() {
  using log = session_log;
  return {
      {{1'500'000'000, 0, leat::file_version()},
       "09000000c00b5ad6411a0d627261696e2e4576656e743a32",
       "1800000000000000a37f4b22",
       "4ca9a464"},
      {{wall, 123, log{log::start, {}, {}}},
       "09000020c00b5ad641107b3a020801",
       "0f000000000000006d532b09",
       "7ee68814"},
      {{wall, 0, log{log::stop, {}, {}}},
       "09000020c00b5ad6413a020802",
       "0d000000000000003c37b834",
       "ccd97d5f"},
      {{wall, 123, log{log::checkpoint, "/tmp/d/model.ckpt", {}}},
       "09000020c00b5ad641107b3a15080312112f746d702f642f6d6f64656c2e636b7074",
       "220000000000000078113dfd",
       "669d0a03"},
      {{wall, 7, summary().add_scalar("c1", 1)},
       "09000020c00b5ad64110072a0b0a090a026331150000803f",
       "1800000000000000a37f4b22",
       "568ede7f"},
      {{wall, 123, summary().add_scalar("global_step/sec", 0)},
       "09000020c00b5ad641107b2a180a160a0f676c6f62616c5f737465702f7365631500000000",
       "2500000000000000eabc36f3",
       "67defc07"},
  };
}

event_record with(event_record::content what) { return {wall, 3, std::move(what)}; }

// Returns one event of each kind.
std::vector<event_record> all_kinds() {
  summary values;
  values.add_scalar("nan", std::nan("")).add_scalar("minus zero", -0.0);
  values.add_histogram("h", std::vector<double>{1, 1, 2});
  values.values.push_back({"image", leat::unparsed_value{4, "\x08\x01"}, "\x0a\x00"});
  values.values.push_back({"nothing", {}, {}});
  values.values.push_back({"", 1.5F, "metadata"});
  std::vector<event_record> all{{}, {-0.0, -1, {}}};
  all.push_back(with(leat::file_version{"brain.Event:1"}));
  all.push_back(with(leat::file_version{""}));
  all.push_back(with(leat::serialized_graph{std::string("\0graph\xff", 7)}));
  all.push_back(with(leat::serialized_graph{}));
  all.push_back(with(leat::serialized_meta_graph{"meta"}));
  all.push_back(with(std::move(values)));
  all.push_back(with(summary{}));
  all.push_back(with(leat::log_message{leat::log_message::warn, "w\xc3\xa4rme"}));
  all.push_back(with(leat::log_message{static_cast<leat::log_message::level_type>(-7), {}}));
  all.push_back(with(session_log{session_log::checkpoint, "/a", "b"}));
  all.push_back(with(leat::tagged_run_metadata{"step 3", std::string("\xff\0", 2)}));
  return all;
}

TEST_CASE("event_record: writes and reads the golden bytes [81]") {
  for (const golden& g : golden_table()) {
    const std::string payload = leat_test::from_hex(g.payload);
    CHECK(g.what.to_bytes() == payload);
    CHECK(event_record::from_bytes(payload) == g.what);
    CHECK(leat_test::framed({payload}) ==
          leat_test::from_hex(g.header) + payload + leat_test::from_hex(g.footer));
  }
}

TEST_CASE("event_record: reads what it wrote for each kind of event") {
  for (const event_record& e : all_kinds()) {
    const std::string bytes = e.to_bytes();
    const event_record again = event_record::from_bytes(bytes);
    CHECK(again.to_bytes() == bytes);
    CHECK(again.what.index() == e.what.index());
    CHECK(again.step == e.step);
    CHECK(std::signbit(again.wall_time) == std::signbit(e.wall_time));
  }
  CHECK(event_record().to_bytes().empty());
  CHECK(event_record::from_bytes("") == event_record());
}

TEST_CASE("event_record: truncation is refused with the offset, or leaves a valid prefix") {
  for (const event_record& e : all_kinds()) {
    const std::string bytes = e.to_bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string part = bytes.substr(0, size);
      const std::string what =
          refusal([&] { return event_record::from_bytes(part); }, leat::errc::data_loss);
      if (what.empty()) continue;  // the cut is between two fields
      CHECK(
          contains(what, "event of " + std::to_string(size) + " bytes is corrupt in the field at"));
    }
  }
  const std::string long_length = leat_test::from_hex("2affffffff0f");
  CHECK_FAILS(errc::data_loss, "at offset 0: a length that exceeds the remaining bytes",
              event_record::from_bytes(long_length));
  const std::string odd_list = leat_test::from_hex("2a070a052a0332010a");
  CHECK_FAILS(errc::data_loss, "list whose last number is truncated",
              event_record::from_bytes(odd_list));
}

TEST_CASE("event_record: fields that are not known are skipped") {
  // Field 10 with a message, field 15 as a number, field 2 as bytes, a group of number 20.
  const std::string unknown = leat_test::from_hex("5202080178071203616263a3010801a401");
  const event_record e = with(summary().add_scalar("a", 1));
  CHECK(event_record::from_bytes(unknown + e.to_bytes() + unknown) == e);
  // A value with node_name, field 7.
  const std::string named = leat_test::from_hex("2a0a0a083a0161150000803f");
  CHECK(std::get<summary>(event_record::from_bytes(named).what) == summary().add_scalar("", 1));
}

TEST_CASE("event_record: uses the last member of a oneof and merges repeated messages") {
  const std::string a = event_record{0, 0, summary().add_scalar("a", 1)}.to_bytes();
  const std::string b = event_record{0, 0, summary().add_scalar("b", 2)}.to_bytes();
  const std::string stop = event_record{0, 0, session_log{session_log::stop, {}, {}}}.to_bytes();
  CHECK(std::get<summary>(event_record::from_bytes(a + b).what) ==
        summary().add_scalar("a", 1).add_scalar("b", 2));
  CHECK(std::get<summary>(event_record::from_bytes(a + stop + b).what) ==
        summary().add_scalar("b", 2));
  CHECK(std::get<session_log>(event_record::from_bytes(a + stop).what).status == session_log::stop);
  // Unpacked limits, then packed ones: {1} and {2}.
  const std::string one = leat_test::from_hex("31000000000000f03f");
  const std::string two = leat_test::from_hex("32080000000000000040");
  const std::string h = leat_test::from_hex("2a170a152a13") + one + two;
  const summary read = std::get<summary>(event_record::from_bytes(h).what);
  CHECK(std::get<leat::histogram_data>(read.values.at(0).value).bucket_limit ==
        std::vector<double>{1, 2});
}

TEST_CASE("event_record: refuses texts that are not UTF-8 in both directions") {
  const std::string bad = "a\xff";
  const auto written = [](event_record::content what) {
    return refusal([&] { return with(std::move(what)).to_bytes(); });
  };
  CHECK(contains(written(summary().add_scalar(bad, 1)), "not UTF-8"));
  CHECK_FALSE(written(leat::file_version{bad}).empty());
  CHECK_FALSE(written(leat::log_message{leat::log_message::info, bad}).empty());
  CHECK_FALSE(written(session_log{session_log::start, bad, {}}).empty());
  CHECK_FALSE(written(session_log{session_log::start, {}, bad}).empty());
  CHECK_FALSE(written(leat::tagged_run_metadata{bad, {}}).empty());
  std::string bytes = with(summary().add_scalar("ab", 1)).to_bytes();
  bytes[bytes.find("ab")] = '\xff';
  CHECK_FAILS(errc::data_loss, "text that is not UTF-8", event_record::from_bytes(bytes));
}

TEST_CASE("summary: a scalar is a float, as numpy makes one") {
  const summary s = summary()
                        .add_scalar("a", 0.1)
                        .add_scalar("b", 1e300)
                        .add_scalar("c", -1e300)
                        .add_scalar("d", std::numeric_limits<double>::quiet_NaN())
                        .add_scalar("e", double{std::numeric_limits<float>::max()});
  const auto value = [&](std::size_t i) { return std::get<float>(s.values.at(i).value); };
  CHECK(value(0) == 0.1F);
  CHECK(value(1) == std::numeric_limits<float>::infinity());
  CHECK(value(2) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(value(3)));
  CHECK(value(4) == std::numeric_limits<float>::max());
}

TEST_CASE("summary: serializes and parses, with a limit on the values") {
  summary s;
  for (int i = 0; i < 10; ++i) s.add_scalar(std::to_string(i), i);
  CHECK(summary::from_bytes(s.to_bytes()) == s);
  CHECK(summary::from_bytes(s.to_bytes(), {.max_values = 10}) == s);
  CHECK_FAILS(errc::resource_exhausted, "event_limits::max_values",
              summary::from_bytes(s.to_bytes(), {.max_values = 9}));
  CHECK_FAILS(errc::resource_exhausted, "event_limits::max_values",
              event_record::from_bytes(with(s).to_bytes(), {.max_values = 9}));
  CHECK_FAILS(errc::data_loss, "summary of 2 bytes is corrupt in the field at offset 0",
              summary::from_bytes("\x0a\x05"));
  CHECK_REFUSED("histogram 'w': NaN", s.add_histogram("w", std::vector<float>{NAN}));
  CHECK(s.values.size() == 10);
}

TEST_CASE("merge_summaries: concatenates values and refuses a repeated tag") {
  const summary a = summary().add_scalar("a", 1).add_scalar("", 1);
  const summary b = summary().add_scalar("b", 2).add_scalar("", 2);
  const std::vector<summary> good{a, b};
  const summary all = leat::merge_summaries(good);
  REQUIRE(all.values.size() == 4);
  CHECK(all.values[2].tag == "b");
  const std::vector<summary> twice{a, b, a};
  CHECK_REFUSED("tag 'a' occurs twice", leat::merge_summaries(twice));
}

TEST_CASE("summary: an unparsed value keeps its field, which must be valid") {
  for (const unsigned field : {3U, 4U, 6U, 8U}) {
    summary s;
    s.values.push_back({"x", leat::unparsed_value{field, "ab"}, {}});
    CHECK(summary::from_bytes(s.to_bytes()) == s);
  }
  for (const unsigned field : {0U, 1U, 2U, 5U, 7U, 9U}) {
    summary s;
    s.values.push_back({"x", leat::unparsed_value{field, "ab"}, {}});
    CHECK_FALSE(refusal([&] { return s.to_bytes(); }).empty());
  }
}

}  // namespace event_test
