#include "leat/pipeline/state/detail/saved_stage.hpp"

#include <optional>
#include <utility>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/pipeline/state/detail/state_defect.hpp"
#include "pipeline/state/state_fields.hpp"

// A state is a list of stages and a checksum; docs/formats/pipeline-state.md has the fields. What
// all stages have comes first in the message of a stage. The rest of that message is the stage's
// own: it is passed on unread, and neither a kind nor one of those fields is known here. So a new
// stage, or a new field of one, changes nothing in this file.
//
// Invariant: bytes are accepted only if the same stages are written as the same bytes. Each stage
// checks this for its own bytes, see match_state.cpp. A state that was read and written again is
// therefore unchanged, and two states are equal if their bytes are.

namespace LEAT::detail {
namespace {

constexpr std::uint64_t state_version = 1;

namespace whole {
constexpr field_tag version = 1, stage = 2, checksum = 15;
}
namespace stage_field {
constexpr field_tag kind = 1, name = 2, setting = 3, version = 14;
}
namespace setting_field {
constexpr field_tag name = 1, value = 2;
}

// The checksum is the last field: its tag, and four bytes.
constexpr std::size_t checksum_size = 5;

std::string bytes_of(const saved_stage& s) {
  std::string bytes;
  state_writer to(bytes);
  to.add_string(stage_field::kind, s.kind);
  to.add_string(stage_field::name, s.name);
  for (const setting& each : s.settings) {
    state_writer message(to, stage_field::setting);
    message.add_string(setting_field::name, each.name);
    message.add_uint64(setting_field::value, each.value);
  }
  if (s.version != 1) to.add_uint64(stage_field::version, s.version);
  return bytes + s.own;
}

setting setting_of_bytes(std::string_view bytes) {
  setting s;
  read_fields(bytes, [&s](state_reader& from) {
    switch (from.tag_and_type()) {
      case bytes_key(setting_field::name): s.name = from.get_string(); break;
      case varint_key(setting_field::value): s.value = from.get_uint64(); break;
      default: throw_unknown_field();
    }
  });
  return s;
}

saved_stage stage_of_bytes(std::string_view bytes) {
  saved_stage s;
  state_reader from(bytes.data(), bytes.size());
  for (std::string_view rest = bytes; from.next(); rest = {from.data().data(), from.length()}) {
    switch (from.tag_and_type()) {
      case bytes_key(stage_field::kind): s.kind = from.get_string(); break;
      case bytes_key(stage_field::name): s.name = from.get_string(); break;
      case bytes_key(stage_field::setting):
        s.settings.push_back(setting_of_bytes(get_bytes(from)));
        break;
      case varint_key(stage_field::version): s.version = from.get_uint64(); break;
      default: s.own = rest; return s;
    }
  }
  return s;
}

// Reads the fields before the checksum.
void read_state(std::string_view content, std::uint64_t& version,
                std::vector<saved_stage>& stages) {
  read_fields(content, [&](state_reader& from) {
    switch (from.tag_and_type()) {
      case varint_key(whole::version): version = from.get_uint64(); break;
      case bytes_key(whole::stage): stages.push_back(stage_of_bytes(get_bytes(from))); break;
      default: throw_unknown_field();
    }
  });
}

}  // namespace

std::string stages_to_bytes(const std::vector<saved_stage>& stages) {
  std::string bytes;
  state_writer to(bytes);
  to.add_uint64(whole::version, state_version);
  for (const saved_stage& s : stages) to.add_message(whole::stage, bytes_of(s));
  to.add_fixed32(whole::checksum, crc32c(as_bytes(bytes)));
  return bytes;
}

std::vector<saved_stage> stages_from_bytes(std::string_view bytes, std::string_view pipeline) {
  const auto throw_error = [&](errc code, const std::string& why) {
    throw failure(code, "pipeline '" + std::string(pipeline) + "': state " + why);
  };
  std::vector<saved_stage> stages;
  std::uint64_t version = 0;
  std::optional<state_defect> defect;
  try {
    if (bytes.size() <= checksum_size) throw protozero::end_of_buffer_exception();
    const std::string_view content = bytes.substr(0, bytes.size() - checksum_size);
    state_reader end(bytes.data() + content.size(), checksum_size);
    if (!end.next(whole::checksum, protozero::pbf_wire_type::fixed32)) {
      throw protozero::invalid_tag_exception();
    }
    if (end.get_fixed32() != crc32c(as_bytes(content))) {
      throw_error(errc::data_loss, "is corrupt: the checksum does not match");
    }
    read_state(content, version, stages);
  } catch (const protozero::exception&) {
    throw_error(errc::invalid_argument,
                "cannot be restored: its bytes are not the state of a pipeline");
  } catch (state_defect& d) {
    defect = std::move(d);
  }
  if (version != state_version) {
    throw_error(errc::unimplemented, "has version " + std::to_string(version) +
                                         ", but this version of leat reads only version " +
                                         std::to_string(state_version));
  }
  if (defect) throw_error(defect->code, defect->why);
  if (stages_to_bytes(stages) != bytes) throw_error(errc::invalid_argument, other_form_error);
  return stages;
}

}  // namespace LEAT::detail
