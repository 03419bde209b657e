#include "codec/example/example_wire.hpp"

#include "codec/excerpt.hpp"

namespace LEAT::detail {
namespace {

// Messages in pieces are merged as in protobuf: as if one followed the other. If `first` is the
// result of the call before, it grows in place, so that n pieces take O(n) memory.
std::string_view join(std::string_view first, std::string_view second, joined_bytes& joined) {
  if (first.empty()) return second;
  const bool grows = !joined.empty() && first.data() == joined.front().data();
  if (grows) return joined.front().append(second);
  return joined.emplace_front(first).append(second);
}

}  // namespace

feature_kind kind_of(dtype type) noexcept {
  switch (type) {
    case dtype::string: return feature_kind::bytes;
    case dtype::float32: return feature_kind::floats;
    case dtype::int64: return feature_kind::ints;
    default: return feature_kind::none;
  }
}

std::string_view to_string(feature_kind kind) noexcept {
  switch (kind) {
    case feature_kind::bytes: return "string";
    case feature_kind::floats: return "float32";
    case feature_kind::ints: return "int64";
    default: return "nothing";
  }
}

std::string to_text(const malformed_message& error, byte_view record) {
  if (error.field.empty()) return error.what;
  const auto offset = error.field.data() - as_text(record).data();
  return std::string(error.what) + " at offset " + std::to_string(offset) + ": " +
         excerpt(error.field);
}

feature_list read_feature(std::string_view feature, joined_bytes& joined) {
  feature_list found;
  protobuf_reader in(feature);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    const std::uint32_t number = tag >> 3;
    if (number > 3) throw malformed_message{"feature of an unknown kind"};
    if (tag != make_tag(number, wire_type::bytes)) {
      in.skip(tag);
      continue;
    }
    // The last of several kinds counts; lists of the same kind are merged.
    const auto kind = static_cast<feature_kind>(number);
    const std::string_view list = in.bytes();
    found.list = kind == found.kind ? join(found.list, list, joined) : list;
    found.kind = kind;
  }
  return found;
}

map_entry::map_entry(std::string_view entry, joined_bytes& joined) {
  protobuf_reader in(entry);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == make_tag(1, wire_type::bytes)) {
      key = in.bytes();
    } else if (tag == make_tag(2, wire_type::bytes)) {
      value = join(value, in.bytes(), joined);
    } else {
      in.skip(tag);
    }
  }
}

std::optional<map_entry> take_any_field(std::string_view& features, joined_bytes& joined) {
  std::optional<map_entry> entry;
  protobuf_reader in(features);
  const std::uint32_t tag = in.tag();
  if (tag == make_tag(1, wire_type::bytes)) {
    entry.emplace(in.bytes(), joined);
  } else {
    in.skip(tag);
  }
  features.remove_prefix(static_cast<std::size_t>(in.at() - features.data()));
  return entry;
}

}  // namespace LEAT::detail
