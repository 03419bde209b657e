#include "leat/pipeline/element/detail/any_block.hpp"

namespace LEAT::detail {

any_block_recycler::any_block_recycler(std::size_t most) { blocks_.reserve(most); }

std::unique_ptr<any_block> any_block_recycler::take() noexcept {
  const thread_lock lock(mutex_);
  if (blocks_.empty()) return nullptr;
  std::unique_ptr<any_block> block = std::move(blocks_.back());
  blocks_.pop_back();
  return block;
}

void any_block_recycler::give_back(std::unique_ptr<any_block> block) noexcept {
  block->clear();  // not under the lock, since the destructors of elements may do anything
  const thread_lock lock(mutex_);
  // Within the capacity push_back() does not allocate.
  if (blocks_.size() < blocks_.capacity()) blocks_.push_back(std::move(block));
}

}  // namespace LEAT::detail
