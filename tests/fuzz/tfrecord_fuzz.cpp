// Any bytes: the scan stays inside them, and what it finds is what a slow parser finds.

#include "leat/codec/tfrecord.hpp"

#include <cstdlib>

#include "leat/codec/crc32c.hpp"

namespace {

// The record at the beginning of `bytes`, if a whole and good one stands there.
bool whole_record(leat::byte_view bytes, std::uint64_t limit, std::uint64_t& length) {
  if (bytes.size() < leat::tfrecord_overhead) return false;
  length = leat::load_little_endian<std::uint64_t>(bytes.data());
  const auto header = leat::load_little_endian<std::uint32_t>(bytes.data() + 8);
  if (header != leat::mask_crc32c(leat::crc32c(bytes.first(8)))) return false;
  if (length > limit || length > bytes.size() - leat::tfrecord_overhead) return false;
  const auto payload = bytes.subspan(12, static_cast<std::size_t>(length));
  return leat::load_little_endian<std::uint32_t>(payload.data() + payload.size()) ==
         leat::mask_crc32c(leat::crc32c(payload));
}

// Makes the checksums right, so that the search gets behind them.
void mend(std::vector<std::byte>& bytes) {
  for (std::size_t at = 0; at + 12 <= bytes.size();) {
    leat::store_little_endian(bytes.data() + at + 8,
                              leat::mask_crc32c(leat::crc32c({bytes.data() + at, 8})));
    const auto length = leat::load_little_endian<std::uint64_t>(bytes.data() + at);
    if (length > bytes.size() - at - 12 || bytes.size() - at - 12 - length < 4) return;
    const auto size = static_cast<std::size_t>(length);
    std::byte* const payload = bytes.data() + at + 12;
    leat::store_little_endian(payload + size, leat::mask_crc32c(leat::crc32c({payload, size})));
    at += 16 + size;
  }
}

void check(leat::byte_view bytes) {
  constexpr std::uint64_t limit = 1 << 16;
  std::vector<leat::byte_view> records;
  const auto scan = leat::scan_tfrecords(bytes, records, SIZE_MAX, limit);
  std::size_t at = 0;
  std::size_t count = 0;
  std::uint64_t length = 0;
  while (whole_record(bytes.subspan(at), limit, length)) {
    if (count == records.size() || records[count].size() != length) std::abort();
    ++count;
    at += static_cast<std::size_t>(length) + leat::tfrecord_overhead;
  }
  if (count != records.size() || at != scan.consumed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(data[i]);
  check(bytes);
  mend(bytes);
  check(bytes);
  return 0;
}
