#include "leat/codec/checksum/epoch_fingerprint.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <span>

#include "codec/checksum/murmur3.hpp"

namespace LEAT {
namespace {

// The hash of a record: of its key, or the hash of its key, and the hash of its bytes.
detail::hash128 hash_of(const detail::hash128& key, byte_view record) noexcept {
  const detail::hash128 bytes = detail::murmur3(record);
  const std::array<std::uint64_t, 4> both = {key.low, key.high, bytes.low, bytes.high};
  return detail::murmur3(std::as_bytes(std::span(both)));
}

}  // namespace

void epoch_fingerprint::add(std::uint64_t key, byte_view record) noexcept {
  const detail::hash128 h = hash_of({key, 0}, record);
  add_sum(h.high, h.low);
  ++count_;
}

void epoch_fingerprint::add(std::string_view key, byte_view record) noexcept {
  const detail::hash128 h = hash_of(detail::murmur3(as_bytes(key)), record);
  add_sum(h.high, h.low);
  ++count_;
}

std::string to_string(const epoch_fingerprint& f) {
  char text[64];
  std::snprintf(text, sizeof text, "%" PRIu64 " records, %016" PRIx64 "%016" PRIx64, f.count(),
                f.high(), f.low());
  return text;
}

}  // namespace LEAT
