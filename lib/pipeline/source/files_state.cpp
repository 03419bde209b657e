#include "leat/pipeline/source/detail/files_state.hpp"

#include "leat/pipeline/state/detail/state_defect.hpp"
#include "pipeline/source/version_fields.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {
namespace {

constexpr field_tag files_tag = 5;  // of the stage
namespace files_field {             // and the versions of the files
constexpr field_tag seed = 1, epoch = 2, next_file = 3, closed = 4, records = 5, position = 6,
                    assigned = 10, assigned_begun = 11, assigned_files = 12;
}
namespace position_field {
constexpr field_tag flags = 1, file = 2, offset = 3, index = 4, reports = 5;
constexpr std::uint32_t open = 1, ended = 2, any = 4;
}  // namespace position_field

void write_position(state_writer to, const file_position& p) {
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

file_position read_position(state_reader& field) {
  file_position p;
  read_fields(get_bytes(field), [&p](state_reader& from) {
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
      default: throw_unknown_field();
    }
  });
  return p;
}

void write_assigned(state_writer& to, const assigned_files& d) {
  // A field of its own, because both lists may be empty: that differs from no assignment.
  to.add_uint64(files_field::assigned, 1);
  for (const file_position& p : d.begun) {
    write_position(state_writer(to, files_field::assigned_begun), p);
  }
  protozero::packed_field_uint64 files(to, files_field::assigned_files);
  for (const std::uint64_t f : d.files) files.add_element(f);
}

void read_field(state_reader& from, files_state& s) {
  const auto assigned = [&s]() -> assigned_files& {
    return s.assigned ? *s.assigned : s.assigned.emplace();
  };
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
      assigned().begun.push_back(read_position(from));
      break;
    case bytes_key(files_field::assigned_files):
      read_column(from.get_packed_uint64(), assigned().files, [](auto& f, auto v) { f = v; });
      break;
    case bytes_key(files_field::position): s.positions.push_back(read_position(from)); break;
    default: read_versions(from, s.files);
  }
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

std::string file_stage_state::write() const {
  std::string own;
  state_writer stage(own);
  state_writer to(stage, files_tag);
  to.add_fixed64(files_field::seed, at.seed);
  to.add_uint64(files_field::epoch, at.epoch);
  to.add_uint64(files_field::next_file, at.next_file);
  to.add_uint64(files_field::closed, at.closed);
  to.add_uint64(files_field::records, at.records);
  for (const file_position& p : at.positions) {
    write_position(state_writer(to, files_field::position), p);
  }
  if (at.assigned) write_assigned(to, *at.assigned);
  write_versions(to, at.files);
  to.commit();
  return own;
}

void file_stage_state::read(std::string_view own, const std::vector<setting>& settings) {
  if (own.empty()) throw state_defect{"cannot be restored: it contains no positions in files"};
  read_fields(own, [this](state_reader& field) {
    if (field.tag_and_type() != bytes_key(files_tag)) throw_unknown_field();
    read_fields(get_bytes(field), [this](state_reader& from) { read_field(from, at); });
  });
  for (const setting& s : settings) {
    if (s.name == rank_setting) world_.rank = s.value;
    if (s.name == world_size_setting) world_.world_size = s.value;
  }
}

void file_stage_state::merge(const std::vector<const stage_state*>& ranks, rank_share&) {
  std::vector<std::optional<std::uint64_t>> seeds;
  for (const stage_state* rank : ranks) {
    of_ranks.push_back(static_cast<const file_stage_state&>(*rank).at);
    seeds.emplace_back(of_ranks.back().seed);
  }
  require_one_seed(seeds);
}

void require_one_seed(const std::vector<std::optional<std::uint64_t>>& seeds) {
  for (std::size_t r = 1; r < seeds.size(); ++r) {
    if (seeds[r] == seeds.front()) continue;
    throw state_defect{"cannot be resharded: seeds of " + world_rank{r, seeds.size()}.text() +
                           " and " + world_rank{0, seeds.size()}.text() +
                           " differ: only ranks with the same seed can be resharded",
                       errc::failed_precondition};
  }
}

}  // namespace LEAT::detail
