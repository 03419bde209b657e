// Every layout of an Example has the same result. A separate code path reads the most frequent
// layout.

#include <algorithm>

#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "tensor/plain_test.hpp"

namespace example_layout_test {

using leat::byte_view;
using leat::dtype;
using leat::example_parser;
using leat::fixed_len_feature;
using leat::parsed_features;
using leat::var_len_feature;
using texts = std::vector<std::string>;

// Returns a field of bytes: its tag, a length of at least `length_bytes` bytes, and the bytes.
std::string field(char tag, std::string_view bytes, std::size_t length_bytes = 1) {
  std::string all(1, tag);
  std::size_t left = bytes.size();
  for (std::size_t i = 1; left >= 0x80 || i < length_bytes; ++i, left >>= 7) {
    all += static_cast<char>((left & 0x7F) | 0x80);
  }
  all += static_cast<char>(left);
  return all.append(bytes);
}

// The number of bytes of each length: of the Features, an entry, its key, the Feature, its list,
// and the content of the list.
struct lengths {
  std::size_t of[6] = {1, 1, 1, 1, 1, 1};
};

std::string entry(std::string_view key, char list_tag, std::string_view list, const lengths& l) {
  const std::string feature = field(list_tag, list, l.of[4]);
  return field('\x0A', field('\x0A', key, l.of[2]) + field('\x12', feature, l.of[3]), l.of[1]);
}

// Returns an Example with a string, floats and integers.
std::string example(const lengths& l, std::string_view text) {
  const std::string floats(reinterpret_cast<const char*>("\0\0\x80\x3F\0\0\0\x40"), 8);
  const std::string features =
      entry("text", '\x0A', field('\x0A', text, l.of[5]), l) +
      entry("two floats", '\x12', field('\x0A', floats, l.of[5]), l) +
      entry("n", '\x1A', field('\x0A', std::string_view("\x05\xAC\x02", 3), l.of[5]), l);
  return field('\x0A', features, l.of[0]);
}

const example_parser all_kinds({{"text", fixed_len_feature{.type = dtype::string}},
                                {"two floats", fixed_len_feature{.shape = {2}}},
                                {"n", var_len_feature{.type = dtype::int64}}});

parsed_features parse(const example_parser& parser, const texts& records) {
  std::vector<byte_view> views;
  for (const std::string& r : records) views.push_back(leat::as_bytes(r));
  return parser.parse(views);
}

std::string error_of(const example_parser& parser, const texts& records) {
  return refusal<leat::decode_error>([&] { return parse(parser, records); });
}

TEST_CASE("Example: reads lengths encoded with any number of bytes") {
  for (const std::size_t size : {0U, 1U, 100U, 127U, 128U, 16'000U, 16'384U, 70'000U}) {
    const std::string text(size, 'x');
    const parsed_features expected = parse(all_kinds, {example({}, text)});
    CHECK(expected.dense("text").strings()[0] == text);
    CHECK(expected.dense("two floats").values<float>()[1] == 2.0F);
    CHECK(expected.sparse("n").values.values<std::int64_t>()[1] == 300);
    for (std::size_t place = 0; place < std::size(lengths().of); ++place) {
      for (std::size_t bytes = 2; bytes <= 5; ++bytes) {
        lengths l;
        l.of[place] = bytes;
        CHECK(parse(all_kinds, {example(l, text)}) == expected);
        const texts among_others = {example({}, "a"), example(l, text), example({}, "b")};
        CHECK(parse(all_kinds, among_others).dense("text").strings()[1] == text);
        CHECK(parse(all_kinds, among_others).dense("text").strings()[2] == "b");
      }
      lengths too_long;
      too_long.of[place] = 6;
      CHECK(error_of(all_kinds, {example({}, "a"), example(too_long, text)})
                .starts_with("record 1 is not a tf.train.Example: "));
    }
  }
}

TEST_CASE("Example: every length that is one too long or too short is an error") {
  const std::string good = example({}, "some text");
  const parsed_features expected = parse(all_kinds, {good});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char by : {'\1', '\xFF'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] + by);
      // Neither the parser nor its prediction after the first record reads beyond an end, so the
      // result does not depend on the position in a batch.
      const std::string alone = error_of(all_kinds, {bad});
      const std::string third = error_of(all_kinds, {good, good, bad});
      CHECK(alone.empty() == third.empty());
      if (alone.empty()) {
        CHECK(parse(all_kinds, {good, bad}).dense("text").strings()[0] == "some text");
      } else {
        CHECK(alone.substr(alone.find(' ', 7)) == third.substr(third.find(' ', 7)));
      }
    }
  }
}

TEST_CASE("Example: reads features in a different order in each record") {
  leat::random_engine random(1);
  leat::feature_map wanted;
  texts keys;
  for (std::size_t size = 0; size < 40; ++size) {
    // For each size, several keys that differ in one byte.
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      std::string key(size, 'k');
      if (at < size) key[at] = 'x';
      if (!std::ranges::count(keys, key)) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) wanted.emplace(key, fixed_len_feature{.type = dtype::int64});
  const example_parser parser(wanted);
  texts records;
  for (int round = 0; round < 30; ++round) {
    std::vector<std::size_t> order(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (round % 3 != 0) leat::shuffle(order.begin(), order.end(), random);
    std::string features;
    for (const std::size_t i : order) {
      const char value[] = {static_cast<char>(i)};
      features += entry(keys[i], '\x1A', field('\x0A', {value, 1}), {});
    }
    records.push_back(field('\x0A', features));
  }
  const parsed_features all = parse(parser, records);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = all.dense(keys[i]).values<std::int64_t>();
    CHECK(std::ranges::count(found, static_cast<std::int64_t>(i)) == 30);
  }
}

TEST_CASE("Example: reads unusual fields between usual ones") {
  const std::string list = field('\x0A', "\x07");
  const texts unusual = {
      std::string("\x28\x7B", 2),                                              // an unknown field
      field('\x0A', field('\x12', field('\x1A', list)) + field('\x0A', "k")),  // the value first
      field('\x0A', field('\x0A', "k") + field('\x12', field('\x1A', "") + field('\x1A', list))),
      field('\x0A', field('\x0A', "k") + field('\x12', field('\x12', "") + field('\x1A', list))),
      field('\x0A', field('\x0A', "k") + field('\x12', field('\x1A', list)) + "\x18\x01"),
      field('\x0A', field('\x0A', "other") + field('\x12', "")),
      field('\x0A', "")};
  const example_parser parser({{"k", fixed_len_feature{.type = dtype::int64}},
                               {"last", fixed_len_feature{.type = dtype::int64}}});
  const std::string k = entry("k", '\x1A', list, {});
  const std::string last = entry("last", '\x1A', field('\x0A', "\x09"), {});
  for (const std::string& one : unusual) {
    const texts records = {field('\x0A', k + one + last), field('\x0A', k + last),
                           field('\x0A', one + k + last), field('\x0A', k + last + one)};
    const parsed_features all = parse(parser, records);
    CHECK(all.dense("k") == leat::tensor::of<std::int64_t>({4}, {7, 7, 7, 7}));
    CHECK(all.dense("last") == leat::tensor::of<std::int64_t>({4}, {9, 9, 9, 9}));
  }
}

TEST_CASE("Example: uses the last value of a repeated key, usual or unusual") {
  const auto label = [](char value, std::size_t length_bytes) {
    lengths l;
    l.of[3] = length_bytes;
    return entry("k", '\x1A', field('\x0A', {&value, 1}), l);
  };
  const example_parser parser({{"k", fixed_len_feature{.type = dtype::int64}}});
  for (const std::size_t first : {1U, 2U, 3U}) {
    for (const std::size_t second : {1U, 2U, 3U}) {
      const std::string one = field('\x0A', label(1, first) + label(2, second));
      const std::string two = field('\x0A', label(1, first)) + field('\x0A', label(2, second));
      CHECK(parse(parser, {one, two, one}).dense("k") ==
            leat::tensor::of<std::int64_t>({3}, {2, 2, 2}));
    }
  }
}

TEST_CASE("Example: does not parse a feature that was not requested") {
  const std::string wanted = entry("k", '\x1A', field('\x0A', "\x07"), {});
  const example_parser parser({{"k", fixed_len_feature{.type = dtype::int64}}});
  for (const std::string& bad :
       {field('\x22', ""), std::string("\x0A\x7F", 2), std::string("\xFF")}) {
    const std::string entry = field('\x0A', field('\x0A', "other") + field('\x12', bad));
    CHECK(parse(parser, {field('\x0A', entry + wanted)}).dense("k").values<std::int64_t>()[0] == 7);
  }
}

}  // namespace example_layout_test
