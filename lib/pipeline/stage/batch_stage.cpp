#include "leat/pipeline/stage/detail/batch_stage.hpp"

#include "leat/pipeline/state/detail/state_defect.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {
namespace {

constexpr field_tag batch_tag = 13;  // of the stage, once for each batch

}  // namespace

std::string batch_state::write() const {
  std::string own;
  state_writer stage(own);
  for (const std::vector<origin>& b : batches) {
    state_writer batch(stage, batch_tag);
    write_origins(batch, b);
  }
  return own;
}

void batch_state::read(std::string_view own, const std::vector<setting>& settings) {
  read_fields(own, [this](state_reader& field) {
    if (field.tag_and_type() != bytes_key(batch_tag)) throw_unknown_field();
    std::vector<origin>& batch = batches.emplace_back();
    read_fields(get_bytes(field), [&batch](state_reader& from) { read_origins(from, batch); });
  });
  for (const setting& s : settings) {
    if (s.name != batch_size_setting) continue;
    for (const std::vector<origin>& b : batches) {
      if (b.size() <= s.value) continue;
      throw state_defect{"cannot be restored: it has a batch of more elements than batch_size"};
    }
  }
}

// The batches of all ranks, rank by rank. Those of no interest to this rank leave with
// number_batches(). `first_batch` refers to the batch() before this one until the loop replaces it
// for the stages after this one.
void batch_state::merge(const std::vector<const stage_state*>& ranks, rank_share& share) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::uint64_t input_batches = share.first_batch[r];
    share.first_batch[r] = batches.size();
    for (std::vector<origin> b : static_cast<const batch_state&>(*ranks[r]).batches) {
      for (origin& o : b) o.index += input_batches;
      batches.push_back(std::move(b));
    }
  }
}

void batch_state::number_batches(batch_numbers& wanted, bool of_batches) {
  if (wanted.checks() && wanted.all().size() != batches.size()) {
    throw state_defect{
        "cannot be restored: its batches are not those that later stages had partly consumed"};
  }
  // The numbers below are in range. In a saved state, they are 0, 1, ... in this order, and the
  // check above has compared their count. For several ranks, the merge() of later stages has moved
  // them to the range of their rank.
  batch_numbers input_batches(wanted.checks());
  std::vector<std::vector<origin>> kept;
  for (const std::uint64_t number : wanted.all()) {
    std::vector<origin>& b =
        kept.emplace_back(std::move(batches[static_cast<std::size_t>(number)]));
    if (!of_batches) continue;
    for (origin& o : b) input_batches.renumber(o);
  }
  batches = std::move(kept);
  wanted = std::move(input_batches);
}

}  // namespace LEAT::detail
