#pragma once

// libFuzzer changes bytes and thereby invalidates the lengths before them. This mutator changes
// messages in protobuf's wire format and writes valid lengths.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/random.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace leat_test {

/// A field of a message, of any number and wire type.
struct message_field {
  protozero::pbf_tag_type tag = 1;
  protozero::pbf_wire_type type = protozero::pbf_wire_type::varint;
  std::uint64_t number = 0;
  std::string bytes = {};
};

/// Returns the fields of a message, or std::nullopt if the bytes are not a message.
inline std::optional<std::vector<message_field>> fields_of(std::string_view bytes) {
  using wire = protozero::pbf_wire_type;
  std::vector<message_field> all;
  try {
    protozero::pbf_reader from(bytes.data(), bytes.size());
    while (from.next()) {
      message_field f{.tag = from.tag(), .type = from.wire_type()};
      switch (f.type) {
        case wire::varint: f.number = from.get_uint64(); break;
        case wire::fixed64: f.number = from.get_fixed64(); break;
        case wire::fixed32: f.number = from.get_fixed32(); break;
        case wire::length_delimited: f.bytes = from.get_bytes(); break;
        default: return std::nullopt;
      }
      all.push_back(std::move(f));
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return all;
}

inline std::string message_of(const std::vector<message_field>& all) {
  using wire = protozero::pbf_wire_type;
  std::string bytes;
  protozero::pbf_writer to(bytes);
  for (const message_field& f : all) {
    switch (f.type) {
      case wire::varint: to.add_uint64(f.tag, f.number); break;
      case wire::fixed64: to.add_fixed64(f.tag, f.number); break;
      case wire::fixed32: to.add_fixed32(f.tag, static_cast<std::uint32_t>(f.number)); break;
      default: to.add_bytes(f.tag, f.bytes);
    }
  }
  return bytes;
}

inline std::string mutate_bytes(std::string bytes) {
  const std::size_t size = bytes.size();
  bytes.resize(size + 16);
  auto* const data = reinterpret_cast<std::uint8_t*>(bytes.data());
  bytes.resize(LLVMFuzzerMutate(data, size, bytes.size()));
  return bytes;
}

inline std::uint64_t mutate_number(std::uint64_t number, leat::random_engine& random) {
  constexpr std::uint64_t one = 1;
  switch (random.uniform_below(8)) {
    case 0: return number + 1;
    case 1: return number - 1;
    case 2: return random.uniform_below(4);
    case 3: return random.uniform_below(300);
    case 4: return one << random.uniform_below(64);
    case 5: return (one << random.uniform_below(64)) - 1;
    case 6: return UINT64_MAX - random.uniform_below(2);
    default: return number ^ one << random.uniform_below(64);
  }
}

/// Changes one field in a message, or in a nested message.
inline std::string mutate_message(const std::string& bytes, leat::random_engine& random) {
  std::optional<std::vector<message_field>> read = fields_of(bytes);
  if (!read || read->empty() || random.uniform_below(16) == 0) return mutate_bytes(bytes);
  std::vector<message_field>& all = *read;
  const auto i = static_cast<std::size_t>(random.uniform_below(all.size()));
  const auto other = static_cast<std::size_t>(random.uniform_below(all.size()));
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(i);
  switch (random.uniform_below(16)) {
    case 0: all.erase(at); break;
    case 1: all.insert(at, message_field(all[other])); break;
    case 2: std::swap(all[i], all[other]); break;
    case 3:
      all.insert(at, {.tag = static_cast<protozero::pbf_tag_type>(1 + random.uniform_below(15)),
                      .number = mutate_number(0, random)});
      break;
    case 4:
      all.insert(at, {.tag = static_cast<protozero::pbf_tag_type>(1 + random.uniform_below(15)),
                      .type = protozero::pbf_wire_type::length_delimited,
                      .bytes = random.uniform_below(2) == 0 ? std::string() : all[other].bytes});
      break;
    default:
      if (at->type == protozero::pbf_wire_type::length_delimited) {
        at->bytes = mutate_message(at->bytes, random);
      } else {
        at->number = mutate_number(at->number, random);
      }
  }
  return message_of(all);
}

}  // namespace leat_test
