#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The encoding of a field of a protobuf message: a number, or a sequence of bytes.
enum class wire_type : std::uint32_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group_begin = 3,
  group_end = 4,
  fixed32 = 5
};

/// The tag of field `number`.
constexpr std::uint32_t make_tag(std::uint32_t number, wire_type w) noexcept {
  return number << 3 | static_cast<std::uint32_t>(w);
}

/// Thrown for bytes that are not a valid message. `what` describes them. `field` is their part of
/// the message, if it is known.
struct malformed_message {
  const char* what;
  std::string_view field = {};
};

/// Reads a protobuf message field by field, and accepts the same messages as protobuf. (protozero's
/// reader truncates lengths and tags to 32 bits, and does not support groups.)
class protobuf_reader {
 public:
  explicit protobuf_reader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] const char* at() const noexcept { return at_; }
  [[nodiscard]] bool done() const noexcept { return at_ == end_; }

  std::uint64_t varint() {
    // Most are of one byte or two.
    if (at_ != end_ && is_last(at_[0])) return byte(*at_++);
    if (end_ - at_ >= 2 && is_last(at_[1])) {
      const std::uint64_t value = (byte(at_[0]) & 0x7FU) | byte(at_[1]) << 7;
      at_ += 2;
      return value;
    }
    const auto [value, at] = long_varint(at_, end_);
    at_ = at;
    return value;
  }

  std::uint32_t tag() {
    const auto tag = static_cast<std::uint32_t>(short_varint());
    if (tag >> 3 == 0) throw malformed_message{"a field with number 0"};
    return tag;
  }

  std::string_view bytes() {
    const std::uint64_t size = short_varint();
    return take(size, "a length that exceeds the remaining bytes");
  }

  std::uint32_t fixed32() {
    std::uint32_t value;
    std::memcpy(&value, take(sizeof value, "a truncated field").data(), sizeof value);
    return value;
  }

  std::uint64_t fixed64() {
    std::uint64_t value;
    std::memcpy(&value, take(sizeof value, "a truncated field").data(), sizeof value);
    return value;
  }

  // Skips the field with this tag, of any wire type.
  void skip(std::uint32_t tag, int depth = 0) {
    constexpr int max_depth = 100;  // the limit of protobuf
    switch (static_cast<wire_type>(tag & 7)) {
      case wire_type::varint: static_cast<void>(varint()); return;
      case wire_type::fixed64: take(8, "a truncated field"); return;
      case wire_type::fixed32: take(4, "a truncated field"); return;
      case wire_type::bytes: static_cast<void>(bytes()); return;
      case wire_type::group_begin: break;
      default: throw malformed_message{"a field of unknown wire type"};
    }
    if (depth == max_depth) throw malformed_message{"groups nested too deeply"};
    for (;;) {
      const std::uint32_t inner = this->tag();
      if (static_cast<wire_type>(inner & 7) == wire_type::group_end) {
        if (inner >> 3 != tag >> 3)
          throw malformed_message{"a group that ends with another field number"};
        return;
      }
      skip(inner, depth + 1);
    }
  }

 private:
  struct varint_result {
    std::uint64_t value;
    const char* end;
  };

  static std::uint64_t byte(char c) noexcept { return static_cast<unsigned char>(c); }
  // True for the last byte of a number: the others have their high bit set.
  static bool is_last(char c) noexcept { return byte(c) < 0x80; }

  // Not inline, and static, so that the members of the reader can stay in registers.
  [[gnu::noinline]] static varint_result long_varint(const char* at, const char* end) {
    try {
      const std::uint64_t value = protozero::decode_varint(&at, end);
      return {value, at};
    } catch (const protozero::exception&) {
      throw malformed_message{"a truncated or overlong number"};
    }
  }

  // A number in at most five bytes.
  std::uint64_t short_varint() {
    const char* const begin = at_;
    const std::uint64_t value = varint();
    if (at_ - begin > 5) throw malformed_message{"an overlong tag or length"};
    return value;
  }

  std::string_view take(std::uint64_t size, const char* otherwise) {
    if (size > static_cast<std::uint64_t>(end_ - at_)) throw malformed_message{otherwise};
    const std::string_view taken(at_, static_cast<std::size_t>(size));
    at_ += size;
    return taken;
  }

  const char* at_;
  const char* end_;
};

}  // namespace LEAT::detail
