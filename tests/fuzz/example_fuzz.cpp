// Parses any bytes as an Example. The bytes are refused, or the values are equal after they are
// written and read, or the rows are consistent. The first byte selects the requested features.
// example_fields and example_parser agree on all features.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "leat/codec/example/decode_example.hpp"
#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "support/records/example_agreement.hpp"

namespace {

using leat::dtype;
using leat::fixed_len_feature;
using leat::fixed_len_sequence_feature;
using leat::ragged_feature;
using leat::ragged_partition;
using leat::sparse_feature;
using leat::var_len_feature;

// Lists of each type, and features that require more values.
const leat::example_parser& lists() {
  static const leat::example_parser parser({{"f", var_len_feature{dtype::float32}},
                                            {"i", var_len_feature{dtype::int64}},
                                            {"s", var_len_feature{dtype::string}}});
  return parser;
}
const leat::example_parser& shapes() {
  static const leat::example_parser parser(
      {{"f", fixed_len_sequence_feature{dtype::float32, {2}, true}},
       {"s", fixed_len_feature{dtype::string, {}, leat::tensor::scalar("")}},
       {"at", sparse_feature{{"i", "j"}, "v", dtype::int64, {8, 8}}}});
  return parser;
}
// Rows stated by each kind of partition. Rows by lengths contain rows by splits.
const leat::example_parser& rows() {
  using partition = ragged_partition;
  const auto by = [](partition::kind how, const char* key) {
    return ragged_feature{dtype::float32, "f", {{how, key}}, dtype::int64};
  };
  const partition pairs{.how = partition::uniform_row_length, .length = 2};
  static const leat::example_parser parser(
      {{"splits", by(partition::row_splits, "i")},
       {"starts", by(partition::row_starts, "j")},
       {"limits", by(partition::row_limits, "v")},
       {"ids", by(partition::value_row_ids, "k")},
       {"two",
        ragged_feature{dtype::string,
                       "s",
                       {{partition::row_splits, "i"}, {partition::row_lengths, "n"}, pairs}}}});
  return parser;
}
void check_lists(leat::byte_view bytes) {
  const leat::parsed_features first = lists().parse_one(bytes);
  const leat::string_values strings = first.sparse("s").values.strings();
  const std::vector<std::string_view> views(strings.begin(), strings.end());
  const std::string again = leat::example_builder()
                                .add("f", first.sparse("f").values.values<float>())
                                .add("i", first.sparse("i").values.values<std::int64_t>())
                                .add("s", views)
                                .serialize();
  if (lists().parse_one(leat::as_bytes(again)) != first) std::abort();
  // Its strings do not depend on a later record.
  const leat::byte_view beside[] = {bytes, {}};
  const leat::parsed_features batch = lists().parse(beside);
  if (!std::ranges::equal(batch.sparse("s").values.strings(), strings)) std::abort();
}

// A parser for single features returns the values that decode_example() returns.
void check_contents(leat::byte_view bytes) {
  const leat::decoded_example all = leat::decode_example(bytes);
  const leat::parsed_features some = lists().parse_one(bytes);
  for (const auto& [key, found] : some.values()) {
    const leat::tensor& values = some.sparse(key).values;
    const auto feature = all.features.find(key);
    const bool missing = feature == all.features.end() || !feature->second;
    if (missing ? values.count() != 0 : values != *feature->second) std::abort();
  }
}

// Splits start at 0, never decrease and end at the number of inner items.
template <class Integer>
void check_splits(std::span<const Integer> splits, std::int64_t items) {
  if (splits.empty() || splits.front() != 0 || splits.back() != items) std::abort();
  if (!std::ranges::is_sorted(splits)) std::abort();
}

void check_rows(const leat::ragged_tensor& r) {
  std::int64_t items = r.values.shape()[0];
  for (auto level = r.row_splits.rbegin(); level != r.row_splits.rend(); ++level) {
    if (level->type() == dtype::int64) {
      check_splits(level->values<std::int64_t>(), items);
    } else {
      check_splits(level->values<std::int32_t>(), items);
    }
    items = level->shape()[0] - 1;
  }
}

void check_rows(leat::byte_view bytes) {
  const leat::byte_view twice[] = {bytes, bytes};
  const leat::parsed_features both = rows().parse(twice);
  const leat::parsed_features one = rows().parse_one(bytes);
  for (const auto* parsed : {&both, &one}) {
    for (const auto& [name, value] : parsed->values()) {
      check_rows(std::get<leat::ragged_tensor>(value));
    }
  }
}

template <class Check>
void unless_refused(Check check) {
  try {
    check();
  } catch (const leat::decode_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const leat::byte_view bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  std::string refusal;
  if (!leat_test::agree_on(bytes, refusal)) std::abort();
  switch (data[0] % 3) {
    case 0:
      unless_refused([&] { check_lists(bytes); });
      unless_refused([&] { check_contents(bytes); });
      break;
    case 1: {
      // In a batch with an empty Example, whose rows are padded.
      const leat::byte_view beside[] = {bytes, {}};
      unless_refused([&] { static_cast<void>(shapes().parse(beside)); });
      break;
    }
    default: unless_refused([&] { check_rows(bytes); });
  }
  return 0;
}
