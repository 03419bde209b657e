#include "codec/compression/deflate_header.hpp"

#include <array>

#include <isa-l.h>

namespace LEAT::detail {
namespace {

// Flags of RFC 1952. The first marks probable text and has no effect.
constexpr unsigned has_checksum = 2;
constexpr unsigned has_extra = 4;
constexpr unsigned has_name = 8;
constexpr unsigned has_comment = 16;
constexpr unsigned reserved_flags = 0xe0;

constexpr unsigned deflate_method = 8;
constexpr std::array<unsigned, 3> gzip_magic = {0x1f, 0x8b, deflate_method};
constexpr unsigned gzip_fixed_size = 10;

constexpr unsigned largest_window = 7;  // 32 KiB, as zlib's header has it
constexpr unsigned has_dictionary = 0x20;

}  // namespace

deflate_header::status deflate_header::feed(std::byte b) noexcept {
  const auto value = std::to_integer<unsigned>(b);
  return format_ == compression::zlib ? feed_zlib(value) : feed_gzip(value);
}

deflate_header::status deflate_header::feed_zlib(unsigned value) noexcept {
  if (index_++ == 0) {
    number_ = value;
    const bool known = (value & 15U) == deflate_method && value >> 4U <= largest_window;
    return known ? status::more : status::bad;
  }
  if ((number_ * 256 + value) % 31 != 0) return status::bad;
  return (value & has_dictionary) != 0 ? status::dictionary : status::complete;
}

deflate_header::status deflate_header::feed_gzip(unsigned value) noexcept {
  if (field_ != field::checksum) {
    const auto byte = static_cast<unsigned char>(value);
    crc_ = ::crc32_gzip_refl(crc_, &byte, 1);
  }
  switch (field_) {
    case field::fixed: return feed_fixed(value);
    case field::extra_size:
      number_ |= value << (8 * index_);
      if (++index_ < 2) return status::more;
      if (number_ == 0) return enter_field_after(field::extra);
      field_ = field::extra;
      return status::more;
    case field::extra: return --number_ > 0 ? status::more : enter_field_after(field_);
    case field::name:
    case field::comment: return value != 0 ? status::more : enter_field_after(field_);
    case field::checksum:
      number_ |= value << (8 * index_);
      if (++index_ < 2) return status::more;
      return number_ == (crc_ & 0xffffU) ? status::complete : status::bad;
  }
  return status::bad;
}

deflate_header::status deflate_header::feed_fixed(unsigned value) noexcept {
  const unsigned at = index_++;
  if (at < gzip_magic.size() && value != gzip_magic[at]) return status::bad;
  if (at == gzip_magic.size()) flags_ = value;
  if ((flags_ & reserved_flags) != 0) return status::bad;
  return index_ < gzip_fixed_size ? status::more : enter_field_after(field::fixed);
}

// Returns the next field after `f` that the header has.
deflate_header::status deflate_header::enter_field_after(field f) noexcept {
  index_ = 0;
  number_ = 0;
  const auto enter = [this](field next) {
    field_ = next;
    return status::more;
  };
  if (f < field::extra_size && (flags_ & has_extra) != 0) return enter(field::extra_size);
  if (f < field::name && (flags_ & has_name) != 0) return enter(field::name);
  if (f < field::comment && (flags_ & has_comment) != 0) return enter(field::comment);
  if (f < field::checksum && (flags_ & has_checksum) != 0) return enter(field::checksum);
  return status::complete;
}

}  // namespace LEAT::detail
