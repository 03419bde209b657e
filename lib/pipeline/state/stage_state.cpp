#include "leat/pipeline/state/detail/stage_state.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/internal/error_text.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace leat::detail {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;
using tag = protozero::pbf_tag_type;

constexpr std::uint64_t version = 1;

// The fields of the messages; docs/formats/pipeline-state.md says what they mean.
namespace whole {
constexpr tag version = 1, stage = 2, checksum = 15;
}
namespace stage_field {
constexpr tag kind = 1, name = 2, setting = 3, skipped = 4, files = 5, buffer = 6, reader = 7,
              seed = 8, rank = 9, world_size = 10, versions = 11, begun = 12, batch = 13;
}
namespace setting_field {
constexpr tag name = 1, value = 2;
}
namespace files_field {
constexpr tag seed = 1, epoch = 2, next_file = 3, closed = 4, records = 5, position = 6, paths = 7,
              sizes = 8, times = 9, assigned = 10, assigned_begun = 11, assigned_files = 12;
}
namespace position_field {
constexpr tag flags = 1, file = 2, offset = 3, index = 4, reports = 5;
constexpr std::uint32_t open = 1, ended = 2, any = 4;
}  // namespace position_field
namespace buffer_field {
constexpr tag seed = 1, draws = 2;
}
namespace origins_field {  // of a buffer, and of a batch
constexpr tag files = 3, offsets = 4, indexes = 5, branches = 6;
}

namespace begun_field {
constexpr tag file = 1, offset = 2, index = 3, branch = 4, had = 5;
}

// The keys that precede a field of each wire type.
using wire = protozero::pbf_wire_type;
constexpr std::uint32_t varint_key(tag t) { return protozero::tag_and_type(t, wire::varint); }
constexpr std::uint32_t fixed64_key(tag t) { return protozero::tag_and_type(t, wire::fixed64); }
constexpr std::uint32_t bytes_key(tag t) {
  return protozero::tag_and_type(t, wire::length_delimited);
}

// A field that is not known. To ignore it would silently restore another position.
struct unknown_field {};

// A stage within the results of a batch, whose state does not contain the elements of the batch.
struct unknown_batch {
  std::string stage;
};

// The checksum is the last field: its tag, and four bytes.
constexpr std::size_t checksum_size = 5;

// ----------------------------------------------------------------------------------------- writing

void write(pbf_writer to, const file_position& p) {
  const std::uint32_t flags = (p.open ? position_field::open : 0) |
                              (p.ended ? position_field::ended : 0) |
                              (p.any ? position_field::any : 0);
  to.add_uint32(position_field::flags, flags);
  if (!p.open) return;
  to.add_uint64(position_field::file, p.file);
  to.add_uint64(position_field::offset, p.offset);
  to.add_uint64(position_field::index, p.index);
  if (p.reports > 0) to.add_uint64(position_field::reports, p.reports);
}

void write(pbf_writer& to, const assigned_files& d) {
  to.add_uint64(files_field::assigned, 1);
  for (const file_position& p : d.begun) write(pbf_writer(to, files_field::assigned_begun), p);
  protozero::packed_field_uint64 files(to, files_field::assigned_files);
  for (const std::uint64_t f : d.files) files.add_element(f);
}

void write(pbf_writer& to, const std::vector<saved_file_version>& all) {
  {
    protozero::packed_field_fixed32 paths(to, files_field::paths);
    for (const saved_file_version& f : all) paths.add_element(f.path);
  }
  {
    protozero::packed_field_uint64 sizes(to, files_field::sizes);
    for (const saved_file_version& f : all) sizes.add_element(f.read ? f.size + 1 : 0);
  }
  protozero::packed_field_sfixed64 times(to, files_field::times);
  for (const saved_file_version& f : all) times.add_element(f.modified_ns);
}

void write(pbf_writer to, const files_state& s) {
  to.add_fixed64(files_field::seed, s.seed);
  to.add_uint64(files_field::epoch, s.epoch);
  to.add_uint64(files_field::next_file, s.next_file);
  to.add_uint64(files_field::closed, s.closed);
  to.add_uint64(files_field::records, s.records);
  for (const file_position& p : s.positions) write(pbf_writer(to, files_field::position), p);
  if (s.assigned) write(to, *s.assigned);
  write(to, s.files);
}

void write(pbf_writer& to, const std::vector<origin>& all) {
  bool branches = false;
  {
    protozero::packed_field_uint32 files(to, origins_field::files);
    for (const origin& o : all) {
      files.add_element(o.file);
      branches = branches || o.branch != 0;
    }
  }
  {
    protozero::packed_field_uint64 offsets(to, origins_field::offsets);
    for (const origin& o : all) offsets.add_element(o.offset);
  }
  {
    protozero::packed_field_uint64 indexes(to, origins_field::indexes);
    for (const origin& o : all) indexes.add_element(o.index);
  }
  if (!branches) return;
  protozero::packed_field_fixed64 values(to, origins_field::branches);
  for (const origin& o : all) values.add_element(o.branch);
}

void write(pbf_writer to, const buffer_state& s) {
  to.add_fixed64(buffer_field::seed, s.seed);
  to.add_uint64(buffer_field::draws, s.draws);
  write(to, s.held);
}

void write(pbf_writer to, const begun_element& b) {
  to.add_uint64(begun_field::file, b.what.file);
  to.add_uint64(begun_field::offset, b.what.offset);
  to.add_uint64(begun_field::index, b.what.index);
  if (b.what.branch != 0) to.add_fixed64(begun_field::branch, b.what.branch);
  to.add_uint64(begun_field::had, b.had);
}

void write(pbf_writer to, const stage_state& s) {
  to.add_string(stage_field::kind, s.kind);
  to.add_string(stage_field::name, s.name);
  for (const setting& each : s.settings) {
    pbf_writer message(to, stage_field::setting);
    message.add_string(setting_field::name, each.name);
    message.add_uint64(setting_field::value, each.value);
  }
  if (s.files) write(pbf_writer(to, stage_field::files), *s.files);
  if (s.buffer) write(pbf_writer(to, stage_field::buffer), *s.buffer);
  if (!s.reader.empty()) to.add_bytes(stage_field::reader, s.reader);
  if (s.seed) to.add_fixed64(stage_field::seed, *s.seed);
  if (s.world.world_size != 1) {
    to.add_uint64(stage_field::rank, s.world.rank);
    to.add_uint64(stage_field::world_size, s.world.world_size);
  }
  for (const begun_element& b : s.begun) write(pbf_writer(to, stage_field::begun), b);
  for (const std::vector<origin>& b : s.batches) {
    pbf_writer batch(to, stage_field::batch);
    write(batch, b);
  }
  if (s.versions.empty()) return;
  pbf_writer versions(to, stage_field::versions);
  write(versions, s.versions);
}

// ----------------------------------------------------------------------------------------- reading

// A column of many elements. `put` is called with the index and the value of each.
template <class Range, class Items, class Put>
void read_column(const Range& values, Items& items, Put put) {
  items.resize(std::max(items.size(), values.size()));
  std::size_t i = 0;
  for (const auto value : values) put(items[i++], value);
  if (i != items.size()) throw protozero::invalid_length_exception();
}

file_position read_position(pbf_reader from) {
  file_position p;
  while (from.next()) {
    switch (from.tag_and_type()) {
      case varint_key(position_field::flags): {
        const std::uint32_t flags = from.get_uint32();
        p.open = (flags & position_field::open) != 0;
        p.ended = (flags & position_field::ended) != 0;
        p.any = (flags & position_field::any) != 0;
        break;
      }
      case varint_key(position_field::file): p.file = from.get_uint64(); break;
      case varint_key(position_field::offset): p.offset = from.get_uint64(); break;
      case varint_key(position_field::index): p.index = from.get_uint64(); break;
      case varint_key(position_field::reports): p.reports = from.get_uint64(); break;
      default: throw unknown_field();
    }
  }
  return p;
}

files_state read_files(pbf_reader from) {
  files_state s;
  const auto assigned = [&s]() -> assigned_files& {
    return s.assigned ? *s.assigned : s.assigned.emplace();
  };
  while (from.next()) {
    switch (from.tag_and_type()) {
      case fixed64_key(files_field::seed): s.seed = from.get_fixed64(); break;
      case varint_key(files_field::epoch): s.epoch = from.get_uint64(); break;
      case varint_key(files_field::next_file): s.next_file = from.get_uint64(); break;
      case varint_key(files_field::closed): s.closed = from.get_uint64(); break;
      case varint_key(files_field::records): s.records = from.get_uint64(); break;
      case varint_key(files_field::assigned):
        from.skip();
        assigned();
        break;
      case bytes_key(files_field::assigned_begun):
        assigned().begun.push_back(read_position(from.get_message()));
        break;
      case bytes_key(files_field::assigned_files):
        read_column(from.get_packed_uint64(), assigned().files, [](auto& f, auto v) { f = v; });
        break;
      case bytes_key(files_field::position):
        s.positions.push_back(read_position(from.get_message()));
        break;
      case bytes_key(files_field::paths):
        read_column(from.get_packed_fixed32(), s.files,
                    [](saved_file_version& f, auto v) { f.path = v; });
        break;
      case bytes_key(files_field::sizes):
        read_column(from.get_packed_uint64(), s.files, [](saved_file_version& f, auto v) {
          f.read = v > 0;
          f.size = v > 0 ? v - 1 : 0;
        });
        break;
      case bytes_key(files_field::times):
        read_column(from.get_packed_sfixed64(), s.files,
                    [](saved_file_version& f, auto v) { f.modified_ns = v; });
        break;
      default: throw unknown_field();
    }
  }
  return s;
}

// One of the columns of origins.
void read_origins(pbf_reader& from, std::vector<origin>& all) {
  switch (from.tag_and_type()) {
    case bytes_key(origins_field::files):
      return read_column(from.get_packed_uint32(), all, [](origin& o, auto v) { o.file = v; });
    case bytes_key(origins_field::offsets):
      return read_column(from.get_packed_uint64(), all, [](origin& o, auto v) { o.offset = v; });
    case bytes_key(origins_field::indexes):
      return read_column(from.get_packed_uint64(), all, [](origin& o, auto v) { o.index = v; });
    case bytes_key(origins_field::branches):
      return read_column(from.get_packed_fixed64(), all, [](origin& o, auto v) { o.branch = v; });
    default: throw unknown_field();
  }
}

buffer_state read_buffer(pbf_reader from) {
  buffer_state s;
  while (from.next()) {
    switch (from.tag_and_type()) {
      case fixed64_key(buffer_field::seed): s.seed = from.get_fixed64(); break;
      case varint_key(buffer_field::draws): s.draws = from.get_uint64(); break;
      default: read_origins(from, s.held);
    }
  }
  return s;
}

std::vector<origin> read_batch(pbf_reader from) {
  std::vector<origin> all;
  while (from.next()) read_origins(from, all);
  return all;
}

begun_element read_begun(pbf_reader from) {
  begun_element b;
  while (from.next()) {
    switch (from.tag_and_type()) {
      case varint_key(begun_field::file): b.what.file = from.get_uint32(); break;
      case varint_key(begun_field::offset): b.what.offset = from.get_uint64(); break;
      case varint_key(begun_field::index): b.what.index = from.get_uint64(); break;
      case fixed64_key(begun_field::branch): b.what.branch = from.get_fixed64(); break;
      case varint_key(begun_field::had): b.had = from.get_uint64(); break;
      default: throw unknown_field();
    }
  }
  return b;
}

setting read_setting(pbf_reader from) {
  setting s;
  while (from.next()) {
    switch (from.tag_and_type()) {
      case bytes_key(setting_field::name): s.name = from.get_string(); break;
      case varint_key(setting_field::value): s.value = from.get_uint64(); break;
      default: throw unknown_field();
    }
  }
  return s;
}

stage_state read_stage(pbf_reader from) {
  stage_state s;
  while (from.next()) {
    switch (from.tag_and_type()) {
      case bytes_key(stage_field::kind): s.kind = from.get_string(); break;
      case bytes_key(stage_field::name): s.name = from.get_string(); break;
      case bytes_key(stage_field::setting):
        s.settings.push_back(read_setting(from.get_message()));
        break;
      case varint_key(stage_field::skipped): throw unknown_batch{s.name};
      case bytes_key(stage_field::files): s.files = read_files(from.get_message()); break;
      case bytes_key(stage_field::buffer): s.buffer = read_buffer(from.get_message()); break;
      case bytes_key(stage_field::reader): s.reader = from.get_bytes(); break;
      case fixed64_key(stage_field::seed): s.seed = from.get_fixed64(); break;
      case varint_key(stage_field::rank): s.world.rank = from.get_uint64(); break;
      case varint_key(stage_field::world_size): s.world.world_size = from.get_uint64(); break;
      case bytes_key(stage_field::begun): s.begun.push_back(read_begun(from.get_message())); break;
      case bytes_key(stage_field::batch):
        s.batches.push_back(read_batch(from.get_message()));
        break;
      case bytes_key(stage_field::versions):
        s.versions = read_files(from.get_message()).files;
        break;
      default: throw unknown_field();
    }
  }
  return s;
}

}  // namespace

bool has_consistent_positions(const files_state& s) noexcept {
  std::uint64_t ended = 0;
  for (const file_position& p : s.positions) {
    if (p.open && p.ended) return false;
    if (p.ended) ++ended;
  }
  return s.closed == ended;
}

std::vector<begun_element> drop_first(std::vector<begun_element> all, std::size_t count) {
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

std::string stages_to_bytes(const std::vector<stage_state>& stages) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_uint64(whole::version, version);
  for (const stage_state& s : stages) write(pbf_writer(to, whole::stage), s);
  to.add_fixed32(whole::checksum, crc32c(as_bytes(bytes)));
  return bytes;
}

std::vector<stage_state> stages_from_bytes(std::string_view bytes, std::string_view pipeline) {
  const auto throw_error = [&](errc code, const std::string& why) {
    throw failure(code, "pipeline '" + std::string(pipeline) + "': state " + why);
  };
  std::vector<stage_state> stages;
  std::uint64_t found = 0;
  try {
    if (bytes.size() <= checksum_size) throw protozero::end_of_buffer_exception();
    const std::string_view content = bytes.substr(0, bytes.size() - checksum_size);
    pbf_reader end(bytes.data() + content.size(), checksum_size);
    if (!end.next(whole::checksum, protozero::pbf_wire_type::fixed32)) {
      throw protozero::invalid_tag_exception();
    }
    if (end.get_fixed32() != crc32c(as_bytes(content))) {
      throw_error(errc::data_loss, "is corrupt: the checksum does not match");
    }
    pbf_reader from(content.data(), content.size());
    while (from.next()) {
      switch (from.tag_and_type()) {
        case varint_key(whole::version): found = from.get_uint64(); break;
        case bytes_key(whole::stage): stages.push_back(read_stage(from.get_message())); break;
        default: throw unknown_field();
      }
    }
  } catch (const protozero::exception&) {
    throw_error(errc::invalid_argument,
                "cannot be restored: its bytes are not the state of a pipeline");
  } catch (const unknown_field&) {
    if (found == version) {
      throw_error(errc::unimplemented,
                  "has unknown fields: it was saved by a later version of leat");
    }
  } catch (const unknown_batch& b) {
    if (found == version) {
      throw_error(
          errc::unimplemented,
          "was saved by an earlier version of leat while stage '" + b.stage +
              "' had passed on only a part of a batch: restore a state that was saved at the end "
              "of a batch");
    }
  }
  if (found != version) {
    throw_error(errc::unimplemented, "has version " + std::to_string(found) +
                                         ", but this version of leat reads only version " +
                                         std::to_string(version));
  }
  if (stages_to_bytes(stages) != bytes) {
    throw_error(errc::invalid_argument,
                "cannot be restored: its bytes are not in the form that a pipeline writes");
  }
  return stages;
}

void add_stage(std::vector<stage_state>& stages, stage_state stage) {
  stages.push_back(std::move(stage));
}

void throw_state_error(std::string_view stage, std::string_view why) {
  throw failure(errc::failed_precondition, "stage '" + std::string(stage) +
                                               "': state cannot be restored: " + std::string(why));
}

void rethrow_input_error(std::string_view pipeline) {
  std::string why;
  try {
    throw;
  } catch (const std::system_error& e) {
    if (e.code() != errc::invalid_argument) throw;
    why = without_code_message(e);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    why = e.what();
  }
  std::throw_with_nested(
      failure(errc::failed_precondition,
              "pipeline '" + std::string(pipeline) + "' cannot resume from its state: " + why));
}

void require_seed(std::string_view stage, std::optional<std::uint64_t> given, std::uint64_t saved) {
  if (!given || *given == saved) return;
  throw_state_error(stage, "seed is " + std::to_string(*given) + ", but was " +
                               std::to_string(saved) + " when it was saved");
}

void throw_record_error(const std::string& path, const origin& record) {
  throw failure(errc::failed_precondition,
                path + ": record " + std::to_string(record.index) + " at offset " +
                    std::to_string(record.offset) +
                    " no longer exists, but is needed to restore a state");
}

}  // namespace leat::detail
