#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "leat/base/internal/thread_mutex.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"

namespace LEAT::detail {

/// A block of elements of any type, in memory of its own. Queues between the tasks of a stage hold
/// such blocks, so these queues and tasks are compiled once for all types.
class any_block {
 public:
  any_block() = default;
  any_block(const any_block&) = delete;
  any_block& operator=(const any_block&) = delete;
  virtual ~any_block() = default;

  virtual void clear() noexcept = 0;
  /// Exchanges the contents with those of a block of the same type.
  virtual void swap_with(void* block) noexcept = 0;
  /// See count_block().
  virtual void count_in(stage_metrics& metrics) const = 0;
  /// See memory_of().
  [[nodiscard]] virtual std::size_t memory() const = 0;

  std::size_t counted = 0;  ///< bytes that count for it in the memory budget
};

/// An any_block that holds a Block.
template <class Block>
class block_holder final : public any_block {
 public:
  void clear() noexcept override { block.clear(); }
  void swap_with(void* other) noexcept override { std::swap(block, *static_cast<Block*>(other)); }
  void count_in(stage_metrics& metrics) const override { count_block(metrics, block); }
  std::size_t memory() const override { return memory_of(block); }

  Block block = {};
};

/// Returns the contents. Precondition: it holds a Block.
template <class Block>
[[nodiscard]] Block& block_in(any_block& holder) noexcept {
  return static_cast<block_holder<Block>&>(holder).block;
}

/// Keeps used blocks for their memory; see block_recycler.
///
/// Thread safety: thread-safe.
class any_block_recycler {
 public:
  /// Keeps at most `most` blocks. Errors: std::bad_alloc.
  explicit any_block_recycler(std::size_t most);

  /// Returns an empty block, or null if it has none.
  [[nodiscard]] std::unique_ptr<any_block> take() noexcept;
  void give_back(std::unique_ptr<any_block> block) noexcept;

 private:
  thread_mutex mutex_;
  std::vector<std::unique_ptr<any_block>> blocks_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace LEAT::detail
