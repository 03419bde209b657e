#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "leat/base/internal/thread_mutex.hpp"

namespace LEAT::detail {

/// Keeps used blocks for their memory. A task that passes on a block takes one of these for the
/// next block, so the number of blocks is the largest number in use at one time.
///
/// Thread safety: thread-safe.
template <class Block>
class block_recycler {
 public:
  /// Keeps at most `most` blocks. Errors: std::bad_alloc.
  explicit block_recycler(std::size_t most) { blocks_.reserve(most); }

  /// Returns an empty block.
  [[nodiscard]] Block take() {
    const thread_lock lock(mutex_);
    if (blocks_.empty()) return Block();
    Block block = std::move(blocks_.back());
    blocks_.pop_back();
    return block;
  }

  void give_back(Block&& block) noexcept {
    block.clear();  // not under the lock, since the destructors of elements may do anything
    const thread_lock lock(mutex_);
    if (blocks_.size() < blocks_.capacity()) blocks_.push_back(std::move(block));
  }

 private:
  thread_mutex mutex_;
  std::vector<Block> blocks_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace LEAT::detail
