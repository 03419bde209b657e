#include "leat/codec/tfrecord/tfrecord.hpp"

#include "codec/checksum/raw_crc32c.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace LEAT {
namespace {

struct portable_crc {
  static std::uint32_t of(const std::byte* data, std::size_t size) noexcept {
    return ~detail::raw_crc32c_portable(~0U, data, size);
  }
};

// The loop, instantiated for each implementation of the checksum. A length may be any number until
// its checksum, if that is checked, and its limit are verified. A record is read only if all of it
// is in `bytes`.
template <class Crc>
tfrecord_scan scan_with(byte_view bytes, std::vector<byte_view>& records, std::size_t max_records,
                        std::uint64_t max_record_size, tfrecord_checks checks) {
  tfrecord_scan scan;
  const std::byte* const begin = bytes.data();
  const std::byte* const end = begin + bytes.size();
  const std::byte* at = begin;
  scan.status = tfrecord_scan_status::full;
  for (; max_records > 0; --max_records) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < tfrecord_header_size) {
      scan.status = tfrecord_scan_status::need_more;
      scan.needed = tfrecord_header_size;
      break;
    }
    const auto length = load_little_endian<std::uint64_t>(at);
    if (checks != tfrecord_checks::none) {
      scan.expected_crc = unmask_crc32c(load_little_endian<std::uint32_t>(at + 8));
      scan.actual_crc = Crc::of(at, 8);
      if (scan.expected_crc != scan.actual_crc) [[unlikely]] {
        scan.status = tfrecord_scan_status::bad_length_checksum;
        scan.length = length;
        break;
      }
    }
    if (length > max_record_size || length > UINT64_MAX - tfrecord_overhead) [[unlikely]] {
      scan.status = tfrecord_scan_status::too_large;
      scan.length = length;
      scan.needed = length > UINT64_MAX - tfrecord_overhead ? length : length + tfrecord_overhead;
      break;
    }
    const std::uint64_t whole = length + tfrecord_overhead;
    if (whole > left) {
      scan.status = tfrecord_scan_status::need_more;
      scan.needed = whole;
      break;
    }
    const auto size = static_cast<std::size_t>(length);
    const std::byte* const payload = at + tfrecord_header_size;
    __builtin_prefetch(payload + size + 1024);
    if (checks == tfrecord_checks::all) {
      scan.expected_crc = unmask_crc32c(load_little_endian<std::uint32_t>(payload + size));
      scan.actual_crc = Crc::of(payload, size);
      if (scan.expected_crc != scan.actual_crc) [[unlikely]] {
        scan.status = tfrecord_scan_status::bad_payload_checksum;
        scan.length = length;
        scan.needed = whole;
        break;
      }
    }
    records.emplace_back(payload, size);
    at += whole;
  }
  scan.consumed = static_cast<std::size_t>(at - begin);
  return scan;
}

#if defined(__x86_64__)
struct sse42_crc {
  static std::uint32_t of(const std::byte* data, std::size_t size) noexcept {
    return ~detail::raw_crc32c_sse42(~0U, data, size);
  }
};
#endif

}  // namespace

tfrecord_scan scan_tfrecords(byte_view bytes, std::vector<byte_view>& records,
                             std::size_t max_records, std::uint64_t max_record_size,
                             tfrecord_checks checks) {
#if defined(__x86_64__)
  if (detail::has_sse42()) {
    return scan_with<sse42_crc>(bytes, records, max_records, max_record_size, checks);
  }
#endif
  return scan_with<portable_crc>(bytes, records, max_records, max_record_size, checks);
}

bool is_tfrecord(byte_view frame, tfrecord_checks checks) noexcept {
  const std::byte* const at = frame.data();
  if (frame.size() < tfrecord_overhead) return false;
  if (load_little_endian<std::uint64_t>(at) != frame.size() - tfrecord_overhead) return false;
  const auto right = [](byte_view text, const std::byte* stored) {
    return crc32c(text) == unmask_crc32c(load_little_endian<std::uint32_t>(stored));
  };
  if (checks == tfrecord_checks::none) return true;
  if (!right({at, 8}, at + 8)) return false;
  if (checks == tfrecord_checks::header_only) return true;
  const byte_view payload = frame.subspan(tfrecord_header_size, frame.size() - tfrecord_overhead);
  return right(payload, payload.data() + payload.size());
}

std::optional<std::size_t> find_tfrecord(byte_view bytes, std::uint64_t max_record_size) noexcept {
  for (std::size_t at = 0; at + tfrecord_header_size <= bytes.size(); ++at) {
    // Checks the length first: hardly any is small enough among arbitrary bytes, so the checksum is
    // rarely computed.
    if (load_little_endian<std::uint64_t>(bytes.data() + at) > max_record_size) continue;
    const auto stored = load_little_endian<std::uint32_t>(bytes.data() + at + 8);
    if (crc32c(bytes.subspan(at, 8)) == unmask_crc32c(stored)) return at;
  }
  return std::nullopt;
}

std::array<std::byte, tfrecord_header_size> tfrecord_header(byte_view payload) noexcept {
  std::array<std::byte, tfrecord_header_size> header;
  store_little_endian(header.data(), std::uint64_t{payload.size()});
  store_little_endian(header.data() + 8, mask_crc32c(crc32c({header.data(), 8})));
  return header;
}

std::array<std::byte, tfrecord_footer_size> tfrecord_footer(byte_view payload) noexcept {
  std::array<std::byte, tfrecord_footer_size> footer;
  store_little_endian(footer.data(), mask_crc32c(crc32c(payload)));
  return footer;
}

void append_tfrecord(std::vector<std::byte>& out, byte_view payload) {
  const auto header = tfrecord_header(payload);
  const auto footer = tfrecord_footer(payload);
  // At once, so that a lack of memory appends nothing; at least twice the size, so that many
  // appends take linear time.
  out.reserve(out.size() + payload.size() + tfrecord_overhead > out.capacity()
                  ? 2 * out.size() + payload.size() + tfrecord_overhead
                  : out.capacity());
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), payload.begin(), payload.end());
  out.insert(out.end(), footer.begin(), footer.end());
}

}  // namespace LEAT
