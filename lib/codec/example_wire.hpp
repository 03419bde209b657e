#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/wire_reader.hpp"
#include "leat/core/dtype.hpp"

namespace leat::detail {

/// The kind of a Feature: which list it has. The numbers are those of the message's fields.
enum class feature_kind : std::uint8_t { none = 0, bytes = 1, floats = 2, ints = 3 };

[[nodiscard]] feature_kind kind_of(dtype type) noexcept;
/// "string", "float32", "int64" or "nothing".
[[nodiscard]] std::string_view name(feature_kind kind) noexcept;

/// Bytes that had to be joined to be one message.
using joined_bytes = std::deque<std::string>;

/// A Feature: its kind, and its list as it is serialized.
struct feature_list {
  feature_kind kind = feature_kind::none;
  std::string_view list;
};

/// Errors: wire_damage.
[[nodiscard]] feature_list read_feature(std::string_view feature, joined_bytes& joined);

/// Reads an entry of a map from strings to messages: the key, and the bytes of the message.
/// Errors: wire_damage.
struct map_entry {
  map_entry(std::string_view entry, joined_bytes& joined);
  std::string_view key;
  std::string_view value;
};

// Fields as nearly all of an Example's are, read with few instructions. Nothing throws: what is
// otherwise, or damaged, is left to wire_reader, which knows.

/// Reads a length of one or two bytes, and gives what is behind it; null: it has more, or is cut
/// short. Precondition: at < end.
[[nodiscard]] inline const char* read_length(const char* at, const char* end,
                                             std::size_t& length) noexcept {
  const auto byte = [](char c) { return std::size_t{static_cast<unsigned char>(c)}; };
  length = byte(*at++);
  if (length < 0x80) return at;
  if (at == end || byte(*at) >= 0x80) return nullptr;
  length += (byte(*at) << 7) - 0x80;
  return at + 1;
}

/// Takes a run of bytes from the front of a message, when its tag is this one, of one byte. False:
/// it is not, and nothing is taken.
[[nodiscard]] inline bool take_bytes(std::string_view& message, std::uint32_t tag,
                                     std::string_view& bytes) noexcept {
  const char* const end = message.data() + message.size();
  if (message.size() < 2 || static_cast<unsigned char>(message[0]) != tag) return false;
  std::size_t size;
  const char* const at = read_length(message.data() + 1, end, size);
  if (!at || size > static_cast<std::size_t>(end - at)) return false;
  bytes = {at, size};
  message = {at + size, end};
  return true;
}

/// Reads an entry of a map from strings to Features: the key, the Feature and in it one list, each
/// once and nothing else. False: it is another; what map_entry and read_feature make of it counts.
[[nodiscard]] inline bool read_usual_entry(std::string_view entry, std::string_view& key,
                                           feature_list& list) noexcept {
  const char* at = entry.data();
  const char* const end = at + entry.size();
  const auto left = [&] { return static_cast<std::size_t>(end - at); };
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  if (left() < 2 || byte(0) != tag_of(1, wire::bytes) || byte(1) >= 0x80) return false;
  key = {at + 2, byte(1)};
  if (left() < key.size() + 6) return false;  // the tags and lengths of the Feature and its list
  at += 2 + key.size();
  std::size_t size;
  if (byte(0) != tag_of(2, wire::bytes)) return false;
  at = read_length(at + 1, end, size);
  if (!at || size != left() || size < 2) return false;
  const std::uint32_t number = byte(0) >> 3;
  if (number == 0 || number > 3 || byte(0) != tag_of(number, wire::bytes)) return false;
  at = read_length(at + 1, end, size);
  if (!at || size != left()) return false;
  list = {static_cast<feature_kind>(number), {at, size}};
  return true;
}

/// Calls use(bytes) for each field `number` of a message that is a run of bytes, and skips the
/// others. Errors: wire_damage, and what `use` throws.
template <class Use>
void for_each_bytes(std::string_view message, std::uint32_t number, Use&& use) {
  wire_reader in(message);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == tag_of(number, wire::bytes)) {
      use(in.bytes());
    } else {
      in.skip(tag);
    }
  }
}

}  // namespace leat::detail
