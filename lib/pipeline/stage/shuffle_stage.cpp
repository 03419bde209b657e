#include "leat/pipeline/stage/detail/shuffle_stage.hpp"

#include <algorithm>

#include "leat/pipeline/state/detail/state_defect.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {
namespace {

constexpr field_tag buffer_tag = 6;  // of the stage
namespace buffer_field {             // and the origins of the elements
constexpr field_tag seed = 1, draws = 2;
}

}  // namespace

std::string shuffle_state::write() const {
  std::string own;
  state_writer stage(own);
  state_writer to(stage, buffer_tag);
  to.add_fixed64(buffer_field::seed, seed);
  to.add_uint64(buffer_field::draws, draws);
  write_origins(to, held);
  to.commit();
  return own;
}

void shuffle_state::read(std::string_view own, const std::vector<setting>&) {
  if (own.empty()) throw state_defect{"cannot be restored: it contains no shuffle buffer"};
  read_fields(own, [this](state_reader& field) {
    if (field.tag_and_type() != bytes_key(buffer_tag)) throw_unknown_field();
    read_fields(get_bytes(field), [this](state_reader& from) {
      switch (from.tag_and_type()) {
        case fixed64_key(buffer_field::seed): seed = from.get_fixed64(); break;
        case varint_key(buffer_field::draws): draws = from.get_uint64(); break;
        default: read_origins(from, held);
      }
    });
  });
}

std::string_view shuffle_state::rank_bond() const noexcept {
  return held.empty() ? "" : "has elements of";
}

// Each rank continues a random order of its own: that of a former rank, if there is one. The order
// begins after the draws of every former rank, whichever seed it has, so no number that was drawn
// before is drawn again.
void shuffle_state::merge(const std::vector<const stage_state*>& ranks, rank_share& share) {
  is_share = true;
  for (const stage_state* rank : ranks) {
    const auto& of_rank = static_cast<const shuffle_state&>(*rank);
    draws = std::max(draws, of_rank.draws);
    for (const origin& o : of_rank.held) {
      if (share.takes_next()) held.push_back(o);
    }
  }
  seed = static_cast<const shuffle_state&>(*ranks[share.here.rank % ranks.size()]).seed;
}

}  // namespace LEAT::detail
