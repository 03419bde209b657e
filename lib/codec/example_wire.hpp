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
