#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/protobuf_reader.hpp"
#include "base/text/utf8.hpp"
#include "leat/base/bytes.hpp"
#include "leat/tensor/dtype.hpp"

namespace LEAT::detail {

/// The kind of a Feature: its list. The numbers are the field numbers of the message.
enum class feature_kind : std::uint8_t { none = 0, bytes = 1, floats = 2, ints = 3 };

[[nodiscard]] feature_kind kind_of(dtype type) noexcept;
/// "string", "float32", "int64" or "nothing".
[[nodiscard]] std::string_view to_string(feature_kind kind) noexcept;

/// Returns, for example, "a name that is not UTF-8 at offset 4: '\xff'". `error` is of `record`.
[[nodiscard]] std::string to_text(const malformed_message& error, byte_view record);

/// Returns true for ASCII text of 8 bytes or more, with one test for 8 bytes.
[[nodiscard]] inline bool is_long_ascii(std::string_view text) noexcept {
  constexpr std::size_t size = sizeof(std::uint64_t);
  if (text.size() < size) return false;
  std::uint64_t all = 0;
  const auto add = [&](std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, size);
    all |= word;
  };
  for (std::size_t at = 0; at + size <= text.size(); at += size) add(at);
  add(text.size() - size);  // may overlap the previous word
  return (all & 0x8080808080808080) == 0;
}

/// Errors: malformed_message unless the name of a feature or of a feature list is UTF-8, as
/// protobuf requires of the key of a map.
inline void require_utf8(std::string_view name) {
  if (is_long_ascii(name) || is_utf8(name)) return;
  throw malformed_message{"a name that is not UTF-8", name};
}

/// Bytes that had to be joined to be one message. An empty object owns no memory. A value_column
/// has views of the strings in them, so the bytes must remain until its values are taken.
using joined_bytes = std::forward_list<std::string>;

/// A Feature: its kind, and its serialized list.
struct feature_list {
  feature_kind kind = feature_kind::none;
  std::string_view list;
};

/// Errors: malformed_message.
[[nodiscard]] feature_list read_feature(std::string_view feature, joined_bytes& joined);

/// Reads an entry of a map from strings to messages: the key, and the bytes of the message.
/// Errors: malformed_message.
struct map_entry {
  map_entry(std::string_view entry, joined_bytes& joined);
  std::string_view key;
  std::string_view value;
};

// The following functions read fields in the form that nearly all fields of an Example have, with
// few instructions. None of them throws: protobuf_reader reads fields in another form and reports
// corrupt ones.

/// Reads a length of one or two bytes and returns the address after it. Returns null if the length
/// has more bytes or is truncated. Precondition: at < end.
[[nodiscard]] inline const char* read_length(const char* at, const char* end,
                                             std::size_t& length) noexcept {
  const auto byte = [](char c) { return std::size_t{static_cast<unsigned char>(c)}; };
  length = byte(*at++);
  if (length < 0x80) return at;
  if (at == end || byte(*at) >= 0x80) return nullptr;
  length += (byte(*at) << 7) - 0x80;
  return at + 1;
}

/// Takes a run of bytes from the front of a message if its tag is `tag`, of one byte. Returns false
/// and takes nothing if it is not.
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

/// Reads an entry of a map from strings to Features: the key, the Feature and one list in it, each
/// once and nothing else. Returns false for any other entry; map_entry and read_feature handle it.
[[nodiscard]] inline bool read_usual_entry(std::string_view entry, std::string_view& key,
                                           feature_list& list) noexcept {
  const char* at = entry.data();
  const char* const end = at + entry.size();
  const auto left = [&] { return static_cast<std::size_t>(end - at); };
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  if (left() < 2 || byte(0) != make_tag(1, wire_type::bytes) || byte(1) >= 0x80) return false;
  key = {at + 2, byte(1)};
  if (left() < key.size() + 6) return false;  // tags and lengths of the Feature and its list
  at += 2 + key.size();
  std::size_t size;
  if (byte(0) != make_tag(2, wire_type::bytes)) return false;
  at = read_length(at + 1, end, size);
  if (!at || size != left() || size < 2) return false;
  const std::uint32_t number = byte(0) >> 3;
  if (number == 0 || number > 3 || byte(0) != make_tag(number, wire_type::bytes)) return false;
  at = read_length(at + 1, end, size);
  if (!at || size != left()) return false;
  list = {static_cast<feature_kind>(number), {at, size}};
  return true;
}

/// Compares keys, which are short, mostly without a call.
[[nodiscard]] inline bool same_key(std::string_view a, std::string_view b) noexcept {
  // Both texts consist of one Word, or of two that overlap.
  const auto same_words = [&]<class Word>(Word) {
    const auto word = [](std::string_view text, std::size_t at) {
      Word w;
      std::memcpy(&w, text.data() + at, sizeof w);
      return w;
    };
    const std::size_t last = a.size() - sizeof(Word);
    return word(a, 0) == word(b, 0) && word(a, last) == word(b, last);
  };
  if (a.size() != b.size()) return false;
  if (a.size() < 4 || a.size() > 16) return a == b;
  return a.size() < 8 ? same_words(std::uint32_t{}) : same_words(std::uint64_t{});
}

/// Calls use(bytes) for each field `number` of a message that is a sequence of bytes, and skips the
/// others. Errors: malformed_message, and what `use` throws.
template <class Use>
void for_each_bytes(std::string_view message, std::uint32_t number, Use&& use) {
  protobuf_reader in(message);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == make_tag(number, wire_type::bytes)) {
      use(in.bytes());
    } else {
      in.skip(tag);
    }
  }
}

// ----------------------------------------------------------------------------- parts of an Example

/// Calls use(features) for each Features message of an Example { Features features = 1 }.
/// Errors: malformed_message, and what `use` throws.
template <class Use>
void for_each_features(byte_view record, Use&& use) {
  std::string_view message = as_text(record);
  std::string_view features;
  while (take_bytes(message, make_tag(1, wire_type::bytes), features)) use(features);
  for_each_bytes(message, 1, use);
}

/// Removes the first field of a Features message, of any kind. Returns an empty value if it was not
/// an entry of the map.
/// Errors: malformed_message.
[[nodiscard]] std::optional<map_entry> take_any_field(std::string_view& features,
                                                      joined_bytes& joined);

/// Calls use(key, read) for each entry of a Features message in order; read() returns its list.
/// Errors: malformed_message, also of read(), and exceptions of `use`.
template <class Use>
void for_each_feature(std::string_view features, joined_bytes& joined, Use&& use) {
  std::string_view entry;
  std::string_view key;
  feature_list list;
  while (!features.empty()) {
    std::string_view rest = features;
    if (take_bytes(rest, make_tag(1, wire_type::bytes), entry) &&
        read_usual_entry(entry, key, list)) {
      use(key, [&] { return list; });
      features = rest;
    } else if (const auto any = take_any_field(features, joined)) {
      use(any->key, [&] { return read_feature(any->value, joined); });
    }
  }
}

// Lists of values. allocate(count) returns memory for `count` more values, which may follow the
// previous memory or lie elsewhere; the values are written there. Errors:
// malformed_message, and errors of `allocate`; then some of that memory may not have been written.

template <class Allocate>
void read_packed_floats(std::string_view packed, Allocate& allocate) {
  if (packed.size() % sizeof(float) != 0)
    throw malformed_message{"list of floats that is truncated"};
  if (packed.empty()) return;
  std::memcpy(allocate(packed.size() / sizeof(float)), packed.data(), packed.size());
}

/// Reads a FloatList.
template <class Allocate>
void read_floats(std::string_view list, Allocate&& allocate) {
  std::string_view packed;
  if (take_bytes(list, make_tag(1, wire_type::bytes), packed)) read_packed_floats(packed, allocate);
  protobuf_reader in(list);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == make_tag(1, wire_type::bytes)) {
      read_packed_floats(in.bytes(), allocate);
    } else if (tag == make_tag(1, wire_type::fixed32)) {
      const std::uint32_t bits = in.fixed32();
      std::memcpy(allocate(1), &bits, sizeof bits);
    } else {
      in.skip(tag);
    }
  }
}

template <class Allocate>
void read_packed_ints(std::string_view packed, Allocate& allocate) {
  // Each number ends with a byte whose high bit is clear.
  const auto is_last = [](char c) { return static_cast<signed char>(c) >= 0; };
  if (packed.size() == 1 && is_last(packed[0])) {  // a label
    const std::int64_t value = packed[0];
    std::memcpy(allocate(1), &value, sizeof value);
    return;
  }
  if (packed.empty()) return;
  std::byte* out = allocate(static_cast<std::size_t>(std::ranges::count_if(packed, is_last)));
  protobuf_reader in(packed);
  while (!in.done()) {
    const std::uint64_t value = in.varint();
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
}

/// Reads an Int64List.
template <class Allocate>
void read_ints(std::string_view list, Allocate&& allocate) {
  std::string_view packed;
  if (take_bytes(list, make_tag(1, wire_type::bytes), packed)) read_packed_ints(packed, allocate);
  protobuf_reader in(list);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == make_tag(1, wire_type::bytes)) {
      read_packed_ints(in.bytes(), allocate);
    } else if (tag == make_tag(1, wire_type::varint)) {
      const std::uint64_t value = in.varint();
      std::memcpy(allocate(1), &value, sizeof value);
    } else {
      in.skip(tag);
    }
  }
}

/// Reads a BytesList: calls use(text) for each.
template <class Use>
void read_strings(std::string_view list, Use&& use) {
  std::string_view text;
  while (take_bytes(list, make_tag(1, wire_type::bytes), text)) use(text);
  for_each_bytes(list, 1, use);
}

}  // namespace LEAT::detail
