#include "leat/io/index/indexed_reader_state.hpp"

#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "leat/base/error.hpp"
#include "leat/io/index/internal/epoch_limits.hpp"

namespace LEAT {
namespace {

// The numbers of a state, by the numbers of their fields.
struct fields {
  std::uint64_t version = 0;
  std::uint64_t shuffle = 0;
  std::uint64_t by = 0;
  std::uint64_t contents[2] = {};
  std::uint64_t times[2] = {};
  indexed_reader_state state = {};

  template <class Use>
  void for_each(Use use) {
    use(1, version);
    use(2, state.epoch);
    use(3, state.position);
    use(4, shuffle);
    use(5, state.seed);
    use(6, by);
    use(7, state.world_size);
    use(8, state.files);
    use(9, state.records);
    use(10, state.size);
    use(11, contents[0]);
    use(12, contents[1]);
    use(13, times[0]);
    use(14, times[1]);
  }
};

// Fields of a part.
namespace part_field {
constexpr protozero::pbf_tag_type epoch = 1, first = 2, stride = 3, count = 4, ranks = 5;
}
constexpr protozero::pbf_tag_type parts_field = 15;

constexpr std::uint64_t max_ranks = std::uint64_t{1} << 32;

epoch_part read_part(const protozero::data_view& bytes) {
  protozero::pbf_reader from(bytes);
  epoch_part p{.stride = 0};
  const auto number = [](protozero::pbf_tag_type tag) {
    return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
  };
  while (from.next()) {
    switch (from.tag_and_type()) {
      case number(part_field::epoch): p.epoch = from.get_uint64(); break;
      case number(part_field::first): p.first = from.get_uint64(); break;
      case number(part_field::stride): p.stride = from.get_uint64(); break;
      case number(part_field::count): p.count = from.get_uint64(); break;
      case number(part_field::ranks): p.ranks = from.get_uint64(); break;
      default: from.skip();  // and the bytes differ from those of a part
    }
  }
  return p;
}

void write_part(protozero::pbf_writer to, const epoch_part& p) {
  to.add_uint64(part_field::epoch, p.epoch);
  to.add_uint64(part_field::first, p.first);
  to.add_uint64(part_field::stride, p.stride);
  to.add_uint64(part_field::count, p.count);
  if (p.ranks > 0) to.add_uint64(part_field::ranks, p.ranks);
}

// Returns the number of positions of the epoch; an empty value if its parts are invalid.
std::optional<std::uint64_t> count_positions(const indexed_reader_state& s) noexcept {
  if (s.parts.empty()) return s.records;
  std::uint64_t positions = 0;
  for (const epoch_part& p : s.parts) {
    // The last position, first + (count - 1) * stride, must be below `records`. The checks are
    // ordered and written so that no number of a crafted state overflows.
    const bool is_one = p.count > 0 && p.stride > 0 && p.epoch <= s.epoch && p.first < s.records;
    const bool by_files = s.by == shard_by::files;
    if ((p.ranks > 0) != by_files || p.ranks > max_ranks) return std::nullopt;
    if (!is_one || p.count - 1 > (s.records - 1 - p.first) / p.stride) return std::nullopt;
    if (p.count > permutation::max_size - positions) return std::nullopt;
    positions += p.count;
  }
  return positions;
}

// Returns the reason why a state is invalid, or null.
const char* find_fault(const fields& f) noexcept {
  if (f.shuffle > 1 || f.by > 1) return "unknown value of shuffle or shard_by";
  if (f.state.world_size == 0) return "world_size is 0";
  if (f.state.epoch > detail::max_epochs) return "number of epochs is too large";
  if (f.state.records > permutation::max_size) return "number of records is above 2^63";
  const std::optional<std::uint64_t> positions = count_positions(f.state);
  if (!positions) return "invalid part of an epoch";
  if (f.state.position > *positions) return "position is after the end of the epoch";
  return nullptr;
}

}  // namespace

std::string indexed_reader_state::to_bytes() const {
  fields f{.version = version,
           .shuffle = shuffle ? 1U : 0U,
           .by = static_cast<std::uint64_t>(by),
           .contents = {contents.high(), contents.low()},
           .times = {times.high(), times.low()},
           .state = *this};
  std::string bytes;
  protozero::pbf_writer message(bytes);
  f.for_each([&](protozero::pbf_tag_type field, std::uint64_t value) {
    if (value != 0) message.add_uint64(field, value);
  });
  for (const epoch_part& p : parts) write_part(protozero::pbf_writer(message, parts_field), p);
  return bytes;
}

indexed_reader_state indexed_reader_state::from_bytes(std::string_view bytes,
                                                      std::string_view reader) {
  const auto throw_error = [reader](errc code, const std::string& why) {
    throw failure(code, std::string(reader) + ": state cannot be restored: " + why);
  };
  fields f;
  f.state.world_size = 0;  // a field of value 0 is omitted, and world_size is never 0
  std::vector<protozero::data_view> parts;
  bool known = true;
  try {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag() == parts_field &&
          message.wire_type() == protozero::pbf_wire_type::length_delimited) {
        parts.push_back(message.get_view());
        continue;
      }
      bool found = false;
      const bool number = message.wire_type() == protozero::pbf_wire_type::varint;
      const std::uint64_t value = number ? message.get_uint64() : 0;
      if (!number) message.skip();
      f.for_each([&](protozero::pbf_tag_type field, std::uint64_t& to) {
        if (field != message.tag() || !number) return;
        to = value;
        found = true;
      });
      known = known && found;
    }
  } catch (const protozero::exception&) {
    throw_error(errc::invalid_argument, "bytes are not the state of an indexed_reader");
  }
  // Before the fields are checked and the parts are read: in a later version, fields may be new or
  // have another meaning.
  if (f.version > version) {
    throw_error(errc::unimplemented, "it has version " + std::to_string(f.version) +
                                         ", but this program reads version " +
                                         std::to_string(version));
  }
  indexed_reader_state& s = f.state;
  try {
    for (const protozero::data_view& p : parts) s.parts.push_back(read_part(p));
  } catch (const protozero::exception&) {
    throw_error(errc::invalid_argument, "bytes are not the state of an indexed_reader");
  }
  s.shuffle = f.shuffle == 1;
  s.by = static_cast<shard_by>(f.by & 1);
  s.contents = {s.files, f.contents[0], f.contents[1]};
  s.times = {s.files, f.times[0], f.times[1]};
  if (const char* const fault = find_fault(f)) throw_error(errc::invalid_argument, fault);
  // A state has only one encoding, with each field once, in ascending order.
  if (!known || s.to_bytes() != bytes) {
    throw_error(errc::invalid_argument, "bytes differ from those that an indexed_reader writes");
  }
  return s;
}

}  // namespace LEAT
