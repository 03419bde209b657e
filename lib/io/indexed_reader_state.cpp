#include "leat/io/indexed_reader_state.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "leat/core/error.hpp"

namespace leat {
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

// What is wrong with a state; null when nothing is.
const char* fault_of(const fields& f) noexcept {
  if (f.shuffle > 1 || f.by > 1) return "it has a choice that there is not";
  if (f.state.world_size == 0) return "it is of no rank";
  if (f.state.position > f.state.records) return "its position is behind the end of the epoch";
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
  return bytes;
}

indexed_reader_state indexed_reader_state::from_bytes(std::string_view bytes,
                                                      std::string_view reader) {
  const auto refuse = [reader](errc code, const std::string& why) {
    throw failure(code, std::string(reader) + ": the state cannot be restored: " + why);
  };
  fields f;
  f.state.world_size = 0;  // what is 0 is left out, and this is never 0
  bool known = true;
  try {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
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
    refuse(errc::invalid_argument, "its bytes are no state of an indexed_reader");
  }
  if (f.version > version) {
    refuse(errc::unimplemented, "it is of version " + std::to_string(f.version) +
                                    ", this is version " + std::to_string(version));
  }
  indexed_reader_state& s = f.state;
  s.shuffle = f.shuffle == 1;
  s.by = static_cast<shard_by>(f.by & 1);
  s.contents = {s.files, f.contents[0], f.contents[1]};
  s.times = {s.files, f.times[0], f.times[1]};
  if (const char* const fault = fault_of(f)) refuse(errc::invalid_argument, fault);
  if (!known || s.to_bytes() != bytes) {
    refuse(errc::invalid_argument, "its bytes are not as an indexed_reader writes them");
  }
  return s;
}

}  // namespace leat
