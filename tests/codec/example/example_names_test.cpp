// Names of features and feature lists that are not UTF-8: protobuf refuses them, TensorFlow's
// parsers accept them.

#include "leat/codec/example/example_options.hpp"

#include "leat/codec/example/decode_example.hpp"
#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_fields.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"
#include "tensor/plain_test.hpp"

namespace example_names_test {

using leat::as_bytes;
using leat::dtype;
using leat::example_options;

constexpr example_options any_names{.check_utf8 = false};

// Not UTF-8: a byte of no sequence, a truncated sequence, an overlong one, a surrogate, and a
// number above the last code point.
const std::vector<std::string> bad_names = {"\xff", "a\xC3", "\xC0\x80", "\xED\xA0\x80",
                                            "\xF4\x90\x80\x80"};

std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// A Feature with one integer.
std::string number(int value) {
  return field(3, field(1, std::string(1, static_cast<char>(value))));
}

std::string entry(const std::string& name, const std::string& value) {
  return field(1, field(1, name) + field(2, value));
}

// An Example with two features.
std::string example(const std::string& name) {
  return field(1, entry("good", number(1)) + entry(name, number(2)));
}

// A SequenceExample with a context and two lists.
std::string sequence(const std::string& context, const std::string& list) {
  return field(1, entry(context, number(1))) +
         field(2, entry("good", field(1, number(2))) + entry(list, field(1, number(3))));
}

leat::example_parser parser_of(const std::string& key, example_options options = {}) {
  return leat::example_parser({{key, leat::var_len_feature{dtype::int64}}}, options);
}

leat::sequence_example_parser sequences_of(const std::string& context, const std::string& list,
                                           example_options options = {}) {
  return leat::sequence_example_parser({{context, leat::var_len_feature{dtype::int64}}},
                                       {{list, leat::var_len_feature{dtype::int64}}}, options);
}

struct numbers {
  std::int64_t value = 0;
};

leat::example_fields<numbers> fields_of(const std::string& key, example_options options = {}) {
  return leat::example_fields<numbers>({leat::required_field<&numbers::value>(key)}, options);
}

TEST_CASE("Example: a name that is not UTF-8 is an error with its offset") {
  const auto fields = fields_of("good");
  const auto parser = parser_of("good");
  for (const std::string& name : bad_names) {
    const std::string record = example(name);
    const std::string expected = " is not a tf.train.Example: a name that is not UTF-8 at offset " +
                                 std::to_string(record.find(name)) + ": '";
    CHECK_REFUSED("record 0" + expected, leat::decode_example(as_bytes(record)));
    CHECK_REFUSED("record 0" + expected, fields.parse(as_bytes(record)));
    const std::string good = example("other");
    const leat::byte_view records[] = {as_bytes(good), as_bytes(record)};
    CHECK_REFUSED("record 1" + expected, parser.parse(records));
  }
  const std::string name = "\xC3\xA4\xED\x9F\xBF\xF4\x8F\xBF\xBF";  // UTF-8
  CHECK(leat::decode_example(as_bytes(example(name))).features.contains(name));
  CHECK_NOTHROW(fields_of(name).parse(as_bytes(example(name))));
}

TEST_CASE("Example: a byte that is not UTF-8 is found at each place of a name") {
  for (std::size_t size = 1; size <= 24; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string name(size, 'a');
      CHECK_NOTHROW(leat::decode_example(as_bytes(example(name))));
      name[at] = '\x80';
      CHECK_THROWS_AS(leat::decode_example(as_bytes(example(name))), leat::decode_error);
    }
  }
}

TEST_CASE("Example: the error does not show a long name completely") {
  const std::string name(100, '\xff');
  const std::string what =
      refusal([&] { return leat::decode_example(as_bytes(field(1, entry(name, {})))); });
  CHECK(contains(what, "'..."));
  CHECK(what.size() < 300);
}

TEST_CASE("Example: every record is checked, also after one with the same names") {
  // The parsers expect the names of a record in the order of the previous one.
  const std::string good = example("name");
  const std::string bad = example("nam\xff");
  const leat::byte_view records[] = {as_bytes(good), as_bytes(good), as_bytes(bad), as_bytes(good)};
  const auto parser = parser_of("name");
  CHECK_REFUSED("record 2 is not", parser.parse(records));
  const auto fields = fields_of("name");
  CHECK(fields.parse(records[0]).value == 2);
  CHECK_THROWS_AS(fields.parse(records[2]), leat::decode_error);
  CHECK(fields.parse(records[3]).value == 2);
}

TEST_CASE("SequenceExample: a name that is not UTF-8 is an error with its offset") {
  const auto parser = sequences_of("good", "good");
  for (const std::string& name : bad_names) {
    for (const std::string& record : {sequence(name, "list"), sequence("context", name)}) {
      const std::string expected =
          "a name that is not UTF-8 at offset " + std::to_string(record.find(name));
      CHECK_REFUSED(expected, parser.parse_one(as_bytes(record)));
      CHECK_REFUSED(expected, leat::decode_example(as_bytes(record)));
    }
  }
}

TEST_CASE("example_options: without check_utf8, names are any bytes") {
  for (const std::string& name : bad_names) {
    const std::string record = example(name);
    CHECK(leat::decode_example(as_bytes(record), any_names).features.contains(name));
    CHECK(fields_of(name, any_names).parse(as_bytes(record)).value == 2);
    CHECK(fields_of("good", any_names).parse(as_bytes(record)).value == 1);
    CHECK(parser_of(name, any_names).parse_one(as_bytes(record)).sparse(name).values.count() == 1);
    const std::string steps = sequence(name, name);
    CHECK(leat::decode_example(as_bytes(steps), any_names).feature_lists.contains(name));
    const auto parsed = sequences_of(name, name, any_names).parse_one(as_bytes(steps));
    CHECK(parsed.context.sparse(name).values.count() == 1);
    CHECK(parsed.sequences.sparse(name).values.count() == 1);
  }
}

TEST_CASE("Example: a parser refuses a key that no accepted record has") {
  const std::string expected =
      "key 'a\\xff' is not UTF-8: set example_options::check_utf8 to false";
  CHECK_REFUSED("example_parser: " + expected, parser_of("a\xff"));
  CHECK_REFUSED("example_fields: " + expected, fields_of("a\xff"));
  for (const auto& [context, list] : {std::pair("a\xff", "b"), std::pair("b", "a\xff")}) {
    CHECK_REFUSED(expected, sequences_of(context, list));
  }
  const leat::sparse_feature sparse{{"a\xff"}, "b", dtype::int64, {1}};
  CHECK_REFUSED(expected, leat::example_parser({{"s", sparse}}));
}

TEST_CASE("example_builder: refuses a key that is not UTF-8 and keeps the others") {
  leat::example_builder builder;
  builder.add("a", {1});
  const std::string before = builder.serialize();
  CHECK_REFUSED("example_builder: key 'b\\xff' is not UTF-8",
                builder.add("b\xff", {2}).serialize());
  CHECK(builder.serialize() == before);

  leat::sequence_example_builder steps;
  steps.context("a", {1}).list("b").step({2});
  const std::string all = steps.serialize();
  CHECK_FALSE(refusal([&] { return steps.context("\xff", {1}).serialize(); }).empty());
  CHECK_FALSE(refusal([&] { return steps.list("\xff").serialize(); }).empty());
  CHECK(steps.serialize() == all);
}

}  // namespace example_names_test
