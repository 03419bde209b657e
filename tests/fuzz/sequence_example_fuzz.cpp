// Parses any bytes as a SequenceExample. The bytes are refused, or a parser without features
// returns the steps in them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "leat/codec/example/decode_example.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"

namespace {

using leat::dtype;
using leat::fixed_len_sequence_feature;
using leat::var_len_feature;

const leat::sequence_example_parser& steps() {
  static const leat::sequence_example_parser parser(
      {{"i", var_len_feature{dtype::int64}}},
      {{"f", fixed_len_sequence_feature{dtype::float32, {}, true}},
       {"s", var_len_feature{dtype::string}}});
  return parser;
}

std::size_t values_in(const std::vector<leat::decoded_example::values>& steps) {
  std::size_t count = 0;
  for (const auto& step : steps) count += step ? static_cast<std::size_t>(step->count()) : 0;
  return count;
}

std::size_t strings_in(const leat::parsed_sequences& parsed) {
  return parsed.sequences.sparse("s").values.strings().size();
}

void check_steps(leat::byte_view bytes) {
  // In a batch with an empty SequenceExample, whose rows are padded.
  const leat::byte_view beside[] = {bytes, {}};
  const leat::parsed_sequences both = steps().parse(beside);
  const leat::parsed_sequences one = steps().parse_one(bytes);
  const leat::decoded_example all = leat::decode_example(bytes);
  const auto found = all.feature_lists.find("s");
  const std::size_t expected = found == all.feature_lists.end() ? 0 : values_in(found->second);
  if (strings_in(both) != expected || strings_in(one) != expected) std::abort();
  // Its strings do not depend on a later record.
  const auto in_batch = both.sequences.sparse("s").values.strings();
  if (!std::ranges::equal(in_batch, one.sequences.sparse("s").values.strings())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check_steps({reinterpret_cast<const std::byte*>(data), size});
  } catch (const leat::decode_error&) {
  }
  return 0;
}
