// Decodes any bytes. As an index they are refused, or they describe a file that records fill, and
// encode to equal bytes. As a TFRecord file, index_tfrecords() finds the records that a full scan
// finds.

#include "leat/codec/tfrecord/tfrecord_index.hpp"

#include <cstdlib>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace {

void check_index(leat::byte_view bytes) {
  leat::tfrecord_index index;
  try {
    index = leat::tfrecord_index::decode(bytes);
  } catch (const leat::failure&) {
    return;
  }
  std::uint64_t end = 0;
  leat::tfrecord_index_builder again;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const auto [offset, size] = index[i];
    if (offset != end) std::abort();
    again.add(size);
    end = again.end_offset();
  }
  if (end != index.fingerprint().size) std::abort();
  const std::vector<std::byte> encoded = index.encode();
  if (leat::as_text(encoded) != leat::as_text(bytes)) std::abort();
  const auto rebuilt = std::move(again).finish(index.fingerprint());
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    if (rebuilt[i] != index[i]) std::abort();
  }
}

// Writes a valid header into the bytes, so that decoding continues after it.
void mend(std::vector<std::byte>& bytes) {
  if (bytes.size() < 64) return;
  const std::vector<std::byte> good = leat::tfrecord_index().encode();
  for (std::size_t i = 0; i < 12; ++i) bytes[i] = good[i];
  const auto size = leat::load_little_endian<std::uint64_t>(bytes.data() + 16);
  const auto count = leat::load_little_endian<std::uint64_t>(bytes.data() + 32);
  leat::store_little_endian(bytes.data() + 40, size - 16 * count);
  const std::uint64_t blocks = 24 * ((count + 127) / 128);
  leat::store_little_endian(bytes.data() + 48, (bytes.size() - 64 - blocks) / 8);
  leat::store_little_endian(bytes.data() + 56, leat::crc32c(leat::byte_view(bytes).subspan(64)));
  leat::store_little_endian(bytes.data() + 60, leat::crc32c({bytes.data(), 60}));
}

void check_headers(leat::byte_view bytes) {
  leat::tfrecord_index_builder builder;
  const auto headers = leat::index_tfrecords(bytes, bytes.size(), builder);
  std::vector<leat::byte_view> records;
  const auto all = leat::scan_tfrecords(bytes, records, SIZE_MAX, UINT64_MAX,
                                        leat::tfrecord_checks::header_only);
  if (headers.consumed != all.consumed || builder.size() != records.size()) std::abort();
  if (headers.status != all.status) std::abort();
}

// Gives every length a valid checksum, starting at the beginning.
void mend_headers(std::vector<std::byte>& bytes) {
  for (std::size_t at = 0; at + 12 <= bytes.size();) {
    leat::store_little_endian(bytes.data() + at + 8,
                              leat::mask_crc32c(leat::crc32c({bytes.data() + at, 8})));
    const auto length = leat::load_little_endian<std::uint64_t>(bytes.data() + at);
    if (length > bytes.size() - at - 12) return;
    at += static_cast<std::size_t>(length) + 16;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_index(bytes);
  check_headers(bytes);
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  mend(mended);
  check_index(mended);
  mended.assign(bytes.begin(), bytes.end());
  mend_headers(mended);
  check_headers(mended);
  return 0;
}
