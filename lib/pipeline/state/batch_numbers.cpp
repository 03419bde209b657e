#include "leat/pipeline/state/detail/batch_numbers.hpp"

#include "leat/pipeline/state/detail/state_defect.hpp"

namespace LEAT::detail {

void batch_numbers::renumber(origin& of_batch) {
  const auto [at, is_new] = indexes_.try_emplace(of_batch.index, numbers_.size());
  if (is_new) numbers_.push_back(of_batch.index);
  if (checks_ && (of_batch.file != 0 || of_batch.offset != 0 || at->second != of_batch.index)) {
    throw state_defect{"cannot be restored: it has elements of a batch that it does not contain"};
  }
  of_batch.index = at->second;
}

}  // namespace LEAT::detail
