#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "leat/base/detail/thread_mutex.hpp"

namespace leat::detail {

/// Blocks that were used up, for the memory that they have: who hands a block to another task takes
/// one of these for the next. So there are no more of them than were under way at a time.
///
/// Thread safety: shared-safe.
template <class Block>
class block_recycler {
 public:
  /// `most`: more are not kept. Errors: std::bad_alloc.
  explicit block_recycler(std::size_t most) { blocks_.reserve(most); }

  /// An empty block.
  [[nodiscard]] Block take() {
    const thread_lock lock(mutex_);
    if (blocks_.empty()) return Block();
    Block block = std::move(blocks_.back());
    blocks_.pop_back();
    return block;
  }

  void give_back(Block&& block) noexcept {
    block.clear();  // not under the lock, since elements may do anything as they go
    const thread_lock lock(mutex_);
    if (blocks_.size() < blocks_.capacity()) blocks_.push_back(std::move(block));
  }

 private:
  thread_mutex mutex_;
  std::vector<Block> blocks_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace leat::detail
