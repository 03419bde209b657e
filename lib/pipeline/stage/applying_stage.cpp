#include "leat/pipeline/stage/detail/applying_stage.hpp"

#include "leat/pipeline/state/detail/state_defect.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {
namespace {

constexpr field_tag skipped_tag = 4, begun_tag = 12;  // of the stage
namespace begun_field {
constexpr field_tag file = 1, offset = 2, index = 3, branch = 4, had = 5;
}

}  // namespace

std::vector<begun_element> drop_first(std::vector<begun_element> all, std::size_t count) {
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

std::string flat_map_state::write() const {
  std::string own;
  state_writer stage(own);
  for (const begun_element& b : begun) {
    state_writer to(stage, begun_tag);
    to.add_uint64(begun_field::file, b.what.file);
    to.add_uint64(begun_field::offset, b.what.offset);
    to.add_uint64(begun_field::index, b.what.index);
    if (b.what.branch != 0) to.add_fixed64(begun_field::branch, b.what.branch);
    to.add_uint64(begun_field::had, b.had);
  }
  return own;
}

void flat_map_state::read(std::string_view own, const std::vector<setting>&) {
  read_fields(own, [this](state_reader& field) {
    if (field.tag_and_type() == varint_key(skipped_tag)) {
      throw state_defect{
          "was saved by an earlier version of leat after the stage had passed on only a part of a "
          "batch: restore a state that was saved at the end of a batch",
          errc::unimplemented};
    }
    if (field.tag_and_type() != bytes_key(begun_tag)) throw_unknown_field();
    begun_element& b = begun.emplace_back();
    read_fields(get_bytes(field), [&b](state_reader& from) {
      switch (from.tag_and_type()) {
        case varint_key(begun_field::file): b.what.file = from.get_uint32(); break;
        case varint_key(begun_field::offset): b.what.offset = from.get_uint64(); break;
        case varint_key(begun_field::index): b.what.index = from.get_uint64(); break;
        case fixed64_key(begun_field::branch): b.what.branch = from.get_fixed64(); break;
        case varint_key(begun_field::had): b.had = from.get_uint64(); break;
        default: throw_unknown_field();
      }
    });
  });
}

std::string_view flat_map_state::rank_bond() const noexcept {
  return begun.empty() ? "" : "has elements of";
}

void flat_map_state::merge(const std::vector<const stage_state*>& ranks, rank_share& share) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (begun_element b : static_cast<const flat_map_state&>(*ranks[r]).begun) {
      // After batch(), the index is the number of a batch of its rank; this makes it the number
      // among the batches of all ranks. Without batch(), `first_batch` is 0.
      b.what.index += share.first_batch[r];
      if (share.takes_next()) begun.push_back(b);
    }
  }
}

void flat_map_state::number_batches(batch_numbers& wanted, bool of_batches) {
  if (!of_batches) return;
  for (begun_element& b : begun) wanted.renumber(b.what);
}

}  // namespace LEAT::detail
