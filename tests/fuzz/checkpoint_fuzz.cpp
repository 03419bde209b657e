// Decodes any bytes. As the start of a checkpoint they are refused, or they are a table that fills
// its file and encodes to equal bytes. As a state file they are refused, or they are a state that
// can be read from its text.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/codec/checkpoint/checkpoint_state.hpp"
#include "leat/codec/checkpoint/checkpoint_table.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace {

void check_table(leat::byte_view bytes) {
  leat::checkpoint_table table;
  try {
    table = leat::checkpoint_table::decode(bytes);
  } catch (const leat::failure&) {
    return;
  }
  std::uint64_t offset = bytes.size();
  for (const leat::checkpoint_entry& e : table.entries) {
    if (e.offset != offset || e.count() * e.element_size != e.size) std::abort();
    offset += e.size;
  }
  if (offset != table.file_size()) std::abort();
  const std::vector<std::byte> encoded = table.encode();
  if (leat::as_text(encoded) != leat::as_text(bytes)) std::abort();
}

// Corrects magic, version, table size and checksums, so that decoding continues after the header.
void mend(std::vector<std::byte>& bytes) {
  constexpr std::size_t header = leat::checkpoint_table::header_size;
  if (bytes.size() < header) return;
  const std::vector<std::byte> good = leat::checkpoint_table().encode();
  std::copy_n(good.begin(), 12, bytes.begin());
  leat::store_little_endian(bytes.data() + 16, std::uint64_t{bytes.size()});
  leat::store_little_endian(bytes.data() + 32,
                            leat::crc32c(leat::byte_view(bytes).subspan(header)));
  leat::store_little_endian(bytes.data() + 36, leat::crc32c({bytes.data(), 36}));
}

void check_state(std::string_view text) {
  leat::checkpoint_state state;
  try {
    state = leat::checkpoint_state::from_text(text);
  } catch (const leat::failure&) {
    return;
  }
  for (double& t : state.all_model_checkpoint_timestamps) {
    if (t != t) t = 0;  // NaN does not equal itself
  }
  const double preserved = state.last_preserved_timestamp.value_or(0);
  if (preserved != preserved) state.last_preserved_timestamp = 0;
  if (leat::checkpoint_state::from_text(state.to_text()) != state) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_table(bytes);
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  mend(mended);
  check_table(mended);
  check_state(leat::as_text(bytes));
  return 0;
}
