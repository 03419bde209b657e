#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "support/records/inflating.hpp"

namespace leat_test {

/// Returns the bytes of a file with these records, by the definition of the format.
inline std::string framed(const std::vector<std::string>& records) {
  std::vector<std::byte> bytes;
  for (const std::string& r : records) leat::append_tfrecord(bytes, leat::as_bytes(r));
  return std::string(leat::as_text(bytes));
}

/// Returns the header of a record of this length, with a correct checksum.
inline std::string header_of(std::uint64_t length) {
  std::string bytes(leat::tfrecord_header_size, '\0');
  auto* const at = reinterpret_cast<std::byte*>(bytes.data());
  leat::store_little_endian(at, length);
  leat::store_little_endian(at + 8, leat::mask_crc32c(leat::crc32c({at, 8})));
  return bytes;
}

/// Returns the decompressed contents of a file, or nothing if the file is incomplete.
inline std::optional<std::string> plain_of(leat::compression format, std::string_view bytes) {
  if (format == leat::compression::none) return std::string(bytes);
  const inflated all = inflate_all(format, bytes);
  if (all.result.status != leat::decompression_status::complete) return std::nullopt;
  return all.text;
}

/// Returns the decompressed contents of a file that may be incomplete.
inline std::string plain_so_far(leat::compression format, std::string_view bytes) {
  return format == leat::compression::none ? std::string(bytes) : inflate_all(format, bytes).text;
}

}  // namespace leat_test
