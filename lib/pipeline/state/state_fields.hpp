#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "leat/pipeline/state/detail/origin.hpp"

// The fields of a saved state: messages in the wire format of protobuf. A field that is not known
// is an error, because to ignore it would silently restore another position.

namespace LEAT::detail {

using state_writer = protozero::pbf_writer;
using state_reader = protozero::pbf_reader;
using field_tag = protozero::pbf_tag_type;

// The keys that precede a field of each wire type.
constexpr std::uint32_t varint_key(field_tag t) {
  return protozero::tag_and_type(t, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t fixed64_key(field_tag t) {
  return protozero::tag_and_type(t, protozero::pbf_wire_type::fixed64);
}
constexpr std::uint32_t bytes_key(field_tag t) {
  return protozero::tag_and_type(t, protozero::pbf_wire_type::length_delimited);
}

/// Throws the state_defect of a field that a later version may have written.
[[noreturn]] void throw_unknown_field();

/// Reads a field of bytes.
[[nodiscard]] inline std::string_view get_bytes(state_reader& from) {
  const protozero::data_view all = from.get_view();
  return {all.data(), all.size()};
}

/// Calls `field` with each field of a message.
template <class Field>
void read_fields(std::string_view bytes, Field field) {
  state_reader from(bytes.data(), bytes.size());
  while (from.next()) field(from);
}

/// Reads a column of many elements. `put` is called with each and its value. A column that is
/// longer than the earlier ones is accepted here; the state that has it is rejected, because it is
/// not written in this form.
template <class Range, class Items, class Put>
void read_column(const Range& values, Items& items, Put put) {
  items.resize(std::max(items.size(), values.size()));
  std::size_t i = 0;
  for (const auto value : values) put(items[i++], value);
  if (i != items.size()) throw protozero::invalid_length_exception();
}

/// Writes origins as columns, in fields 3 to 6 of a message.
void write_origins(state_writer& to, const std::vector<origin>& all);
/// Reads one of these fields.
void read_origins(state_reader& from, std::vector<origin>& all);

}  // namespace LEAT::detail
