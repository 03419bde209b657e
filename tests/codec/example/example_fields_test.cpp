#include "leat/codec/example/example_fields.hpp"

#include <array>
#include <optional>

#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "support/effort.hpp"
#include "support/hex.hpp"
#include "support/records/example_agreement.hpp"
#include "tensor/plain_test.hpp"

namespace example_fields_test {

using leat::as_bytes;
using leat::dtype;
using leat::example_builder;
using leat::example_fields;
using leat::example_parser;
using leat::fixed_len_feature;
using leat::optional_field;
using leat::required_field;
using leat_test::agree_on;
using leat_test::from_hex;
using longs = std::vector<std::int64_t>;
using texts = std::vector<std::string>;
using namespace std::string_view_literals;

struct drawing {
  std::int64_t label = 0;
  float weight = 0;
  std::string author;
  std::array<float, 2> corner = {};
  std::array<std::int64_t, 2> size = {};
  std::array<std::string, 2> names;
  std::array<unsigned char, 3> color = {};
  std::vector<float> strokes;
  std::vector<std::int64_t> times;
  std::vector<std::string> words;
  std::optional<float> score;
  std::optional<std::int64_t> parent;
  std::optional<std::string> title;
  int of_the_program = 5;
};

template <class... Fields>
drawing parse(const std::string& record, const Fields&... fields) {
  return example_fields<drawing>({fields...}).parse(as_bytes(record));
}

template <class... Fields>
std::string error_of(const std::string& record, const Fields&... fields) {
  try {
    static_cast<void>(parse(record, fields...));
  } catch (const leat::decode_error& e) {
    CHECK(e.code() == leat::errc::invalid_argument);
    CHECK(e.record() == 0);
    CHECK(e.records() == 1);
    return e.what();
  }
  return {};
}

std::string parser_error(const std::string& record, const leat::feature_map& features) {
  return refusal<leat::decode_error>(
      [&] { return example_parser(features).parse_one(as_bytes(record)); });
}

TEST_CASE("example_fields: a value of each type") {
  const std::string record =
      example_builder().add("w", {0.5F}).add("l", longs{-3}).add("a", {"me"}).serialize();
  const drawing d =
      parse(record, required_field<&drawing::label>("l"), required_field<&drawing::weight>("w"),
            required_field<&drawing::author>("a"));
  CHECK(d.label == -3);
  CHECK(d.weight == 0.5F);
  CHECK(d.author == "me");
  CHECK(d.of_the_program == 5);
}

TEST_CASE("example_fields: reads the number of values of an array") {
  const std::string record = example_builder()
                                 .add("c", {1.0F, 2.0F})
                                 .add("s", longs{3, 400})
                                 .add("n", {"a"sv, "b"sv})
                                 .serialize();
  const drawing d =
      parse(record, required_field<&drawing::corner>("c"), required_field<&drawing::size>("s"),
            required_field<&drawing::names>("n"));
  CHECK(d.corner == std::array{1.0F, 2.0F});
  CHECK(d.size == std::array<std::int64_t, 2>{3, 400});
  CHECK(d.names == std::array<std::string, 2>{"a", "b"});
}

TEST_CASE("example_fields: the bytes of one string") {
  const auto of = [](std::string_view text) {
    return example_builder().add("c", {text}).serialize();
  };
  const auto field = required_field<&drawing::color>("c");
  CHECK(parse(of("\x01\xFF\x02"), field).color == std::array<unsigned char, 3>{1, 255, 2});
  CHECK(error_of(of("\x01\x02"), field) ==
        "record 0, feature 'c': has a string of 2 bytes, must have 3: invalid argument");
  CHECK(error_of(of("long"), field) ==
        "record 0, feature 'c': has a string of 4 bytes, must have 3: invalid argument");
  CHECK(
      error_of(example_builder().add("c", {"abc"sv, "d"sv}).serialize(), field) ==
      "record 0, feature 'c': has 2 string values, must have 1 for the shape []: invalid argument");
}

TEST_CASE("example_fields: reads vectors of any or of a fixed size") {
  const std::string record = example_builder()
                                 .add("s", {1.0F, 2.0F, 3.0F})
                                 .add("t", longs{1, 2, 3})
                                 .add("w", {"a"sv, ""sv, "c"sv})
                                 .serialize();
  const drawing any =
      parse(record, optional_field<&drawing::strokes>("s"), optional_field<&drawing::times>("t"),
            optional_field<&drawing::words>("w"));
  const drawing three =
      parse(record, required_field<&drawing::strokes>("s", 3),
            required_field<&drawing::times>("t", 3), required_field<&drawing::words>("w", 3));
  for (const drawing& d : {any, three}) {
    CHECK(d.strokes == std::vector<float>{1, 2, 3});
    CHECK(d.times == std::vector<std::int64_t>{1, 2, 3});
    CHECK(d.words == texts{"a", "", "c"});
  }
}

TEST_CASE("example_fields: sets missing optional fields to their default") {
  const std::string nothing =
      example_builder().add("s", leat::feature_values()).serialize();  // a feature without a kind
  const drawing d = parse(
      nothing, optional_field<&drawing::strokes>("s"), optional_field<&drawing::score>("c"),
      optional_field<&drawing::parent>("p"), optional_field<&drawing::title>("t"),
      optional_field<&drawing::label>("l", 7), optional_field<&drawing::author>("a", "unknown"),
      optional_field<&drawing::corner>("o", {1.0F, 2.0F}),
      optional_field<&drawing::times>("m", {4}));
  CHECK(d.strokes.empty());
  CHECK(!d.score);
  CHECK(!d.parent);
  CHECK(!d.title);
  CHECK(d.label == 7);
  CHECK(d.author == "unknown");
  CHECK(d.corner == std::array{1.0F, 2.0F});
  CHECK(d.times == std::vector<std::int64_t>{4});
}

TEST_CASE("example_fields: prefers the values of the record to the default") {
  const std::string record = example_builder()
                                 .add("c", {0.25F})
                                 .add("p", longs{9})
                                 .add("t", {"T"})
                                 .add("l", longs{1})
                                 .add("m", longs{2, 3})
                                 .serialize();
  const drawing d =
      parse(record, optional_field<&drawing::score>("c"), optional_field<&drawing::parent>("p"),
            optional_field<&drawing::title>("t"), optional_field<&drawing::label>("l", 7),
            optional_field<&drawing::times>("m", {5, 6}));
  CHECK(d.score == 0.25F);
  CHECK(d.parent == 9);
  CHECK(d.title == "T");
  CHECK(d.label == 1);
  CHECK(d.times == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("example_fields: refuses a missing required feature") {
  CHECK(error_of(example_builder().add("l", leat::feature_values()).serialize(),
                 required_field<&drawing::label>("l")) ==
        "record 0, feature 'l': required feature of type int64 is missing: use optional_field() if "
        "it is optional: invalid argument");
}

TEST_CASE("example_fields: another type or number is refused as an example_parser does it") {
  const auto both = [](const std::string& record, const auto& field, const fixed_len_feature& f) {
    const std::string error = error_of(record, field);
    CHECK(!error.empty());
    CHECK(error == parser_error(record, {{"k", f}}));
  };
  const fixed_len_feature number{.type = dtype::int64};
  const fixed_len_feature pair{.type = dtype::int64, .shape = {2}};
  const fixed_len_feature two_texts{.type = dtype::string, .shape = {2}};
  const fixed_len_feature three{.type = dtype::float32, .shape = {3}};
  const auto ints = [](std::size_t n) {
    return example_builder().add("k", std::vector<std::int64_t>(n, 300)).serialize();
  };
  const auto floats = [](std::size_t n) {
    return example_builder().add("k", std::vector<float>(n, 0.5F)).serialize();
  };
  const auto strings = [](std::size_t n) {
    return example_builder().add("k", std::vector<std::string_view>(n, "t")).serialize();
  };
  for (const std::size_t n : {0U, 2U, 3U, 1000U}) {
    both(ints(n), required_field<&drawing::label>("k"), number);
    both(ints(n), optional_field<&drawing::parent>("k"), number);
  }
  for (const std::size_t n : {0U, 1U, 3U, 1000U}) {
    both(ints(n), required_field<&drawing::size>("k"), pair);
    both(strings(n), required_field<&drawing::names>("k"), two_texts);
    both(strings(n), required_field<&drawing::words>("k", 2), two_texts);
  }
  for (const std::size_t n : {0U, 2U, 4U, 1000U}) {
    both(floats(n), required_field<&drawing::strokes>("k", 3), three);
  }
  both(floats(1), required_field<&drawing::label>("k"), number);
  both(strings(1), optional_field<&drawing::parent>("k"), number);
  both(ints(3), required_field<&drawing::strokes>("k", 3), three);
  both(ints(2), required_field<&drawing::names>("k"), two_texts);
}

TEST_CASE("example_fields: lists packed, not packed and in pieces") {
  const auto label = required_field<&drawing::label>("age");
  CHECK(parse(from_hex("0a0e0a0c0a0361676512051a030a010d"), label).label == 13);
  CHECK(parse(from_hex("0a0d0a0b0a0361676512041a02080d"), label).label == 13);
  // [1, 2] packed, followed by 3 unpacked.
  const std::string pieces = from_hex("0a110a0f0a0361676512081a060a0201020803");
  CHECK(parse(pieces, optional_field<&drawing::times>("age")).times ==
        std::vector<std::int64_t>{1, 2, 3});
  CHECK(parse(pieces, required_field<&drawing::times>("age", 3)).times ==
        std::vector<std::int64_t>{1, 2, 3});
  // 1.5 unpacked, followed by [0.5] packed.
  const std::string floats = from_hex("0a160a140a03616765120d120b0d0000c03f0a040000003f");
  CHECK(parse(floats, required_field<&drawing::corner>("age")).corner == std::array{1.5F, 0.5F});
}

TEST_CASE("example_fields: uses the last value of a repeated key") {
  // A Features message may come in parts: two parsed Examples in sequence form one.
  const std::string first = example_builder().add("k", {"text"}).add("w", {"a"}).serialize();
  const std::string second = example_builder().add("k", longs{8}).serialize();
  const drawing d = parse(first + second, required_field<&drawing::label>("k"),
                          optional_field<&drawing::words>("w"));
  CHECK(d.label == 8);
  CHECK(d.words == texts{"a"});
}

TEST_CASE("example_fields: reads keys in any order and ignores other keys") {
  for (const bool backwards : {false, true}) {
    example_builder b;
    for (int i = 0; i < 20; ++i) {
      const char letter = static_cast<char>('a' + (backwards ? 19 - i : i));
      b.add(std::string(1, letter), {static_cast<std::int64_t>(letter)});
      b.add(std::string("not ") + letter, {"text"});
    }
    const std::string record = b.serialize();
    leat_test::agreed_example e;
    using leat_test::agreed_example;
    const example_fields<agreed_example> few(
        {required_field<&agreed_example::v>("t"), required_field<&agreed_example::j>("b")});
    few.parse_into(as_bytes(record), e);
    CHECK(e.v == 't');
    CHECK(e.j == 'b');
  }
}

TEST_CASE("example_fields: an object is read into again") {
  const example_fields<drawing> fields(
      {optional_field<&drawing::strokes>("s"), optional_field<&drawing::words>("w"),
       optional_field<&drawing::title>("t"), optional_field<&drawing::author>("a", "unknown")});
  const std::string long_text(100, 'x');
  const std::string large = example_builder()
                                .add("s", std::vector<float>(100, 1.0F))
                                .add("w", {std::string_view(long_text), "b", "c"})
                                .add("t", {std::string_view(long_text)})
                                .add("a", {std::string_view(long_text)})
                                .serialize();
  const std::string small =
      example_builder().add("s", {2.0F}).add("w", {"d"}).add("t", {"e"}).serialize();
  drawing d;
  d.of_the_program = 6;
  fields.parse_into(as_bytes(large), d);
  const void* const memory[] = {d.strokes.data(), d.words.data(), d.words[0].data(),
                                d.title->data(), d.author.data()};
  fields.parse_into(as_bytes(small), d);
  CHECK(d.strokes == std::vector<float>{2});
  CHECK(d.words == texts{"d"});
  CHECK(d.title == "e");
  CHECK(d.author == "unknown");
  CHECK(d.of_the_program == 6);
  const void* const again[] = {d.strokes.data(), d.words.data(), d.words[0].data(), d.title->data(),
                               d.author.data()};
  CHECK(std::equal(std::begin(memory), std::end(memory), std::begin(again)));
  fields.parse_into(as_bytes(example_builder().serialize()), d);
  CHECK(d.strokes.empty());
  CHECK(d.words.empty());
  CHECK(!d.title);
}

TEST_CASE("example_fields: refuses invalid fields at construction") {
  const auto said = [](const std::vector<leat::example_field<drawing>>& fields) {
    return plain_message_of([&] { return example_fields<drawing>(fields); });
  };
  CHECK(said({}) == "example_fields: no fields: pass one or more");
  CHECK(said({required_field<&drawing::label>("k"), optional_field<&drawing::parent>("k")}) ==
        "example_fields: feature 'k' has two fields: pass one");
}

// Checks that both parsers agree on a record, and returns true if they accept it.
bool is_read(const std::string& record) {
  std::string refusal;
  if (!agree_on(as_bytes(record), refusal)) FAIL("not as an example_parser; its: " << refusal);
  return refusal.empty();
}

TEST_CASE("example_fields: reads corrupt bytes like an example_parser") {
  const std::string record = example_builder()
                                 .add("f", {1.0F, 2.0F})
                                 .add("i", longs{1, 300, -1})
                                 .add("k", {"abc"})
                                 .add("s", {""sv, "text"sv})
                                 .add("v", longs{5})
                                 .serialize();
  REQUIRE(is_read(record));
  int read = 0;
  for (std::size_t size = 0; size < record.size(); ++size) read += is_read(record.substr(0, size));
  CHECK(read == 1);  // only the empty record
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string damaged = record;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    read += is_read(damaged);
  }
  CHECK(read > 100);
}

std::string random_record(leat::random_engine& random) {
  constexpr const char* keys[] = {"f", "i", "j", "k", "n", "s", "t", "three", "u", "v", "other"};
  std::string record;
  for (auto parts = random.uniform_below(3) + 1; parts > 0; --parts) {
    example_builder b;
    for (const char* const key : keys) {
      const std::string_view k(key);
      const auto count = random.uniform_below(4) == 0       ? random.uniform_below(6)
                         : k == "three"                     ? 3
                         : k == "f" || k == "t" || k == "u" ? 2
                                                            : 1;
      const std::string_view of_floats = "f three n";
      const std::string_view of_texts = "k s t u";
      auto kind = contains(of_floats, k) ? 0 : contains(of_texts, k) ? 1 : 2;
      if (random.uniform_below(30) == 0) kind = static_cast<int>(random.uniform_below(4));
      if (random.uniform_below(3) == 0) continue;
      if (kind == 0) b.add(k, std::vector<float>(count, 0.5F));
      if (kind == 1) b.add(k, std::vector<std::string_view>(count, "abcdef"));
      if (kind == 2)
        b.add(k, std::vector<std::int64_t>(count, static_cast<std::int64_t>(random())));
      if (kind == 3) b.add(k, leat::feature_values());
    }
    record += b.serialize();
  }
  return record;
}

TEST_CASE("example_fields: reads any Example like an example_parser") {
  leat::random_engine random(leat_test::case_seed(1));
  std::uint64_t read = 0;
  const std::uint64_t count = leat_test::random_case_count(5'000);
  for (std::uint64_t n = 0; n < count; ++n) {
    std::string record = random_record(random);
    read += is_read(record);
    if (record.empty()) continue;
    for (auto damage = random.uniform_below(3); damage > 0; --damage) {
      record[random.uniform_below(record.size())] = static_cast<char>(random.uniform_below(256));
    }
    static_cast<void>(is_read(record));
  }
  CHECK(read > count / 20);
  CHECK(read < count);
}

}  // namespace example_fields_test
