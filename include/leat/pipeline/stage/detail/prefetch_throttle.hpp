#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/sync/semaphore.hpp"

namespace LEAT::detail {

/// Limits how far a stage runs ahead: always one block, and more while the memory budget of the
/// pipeline allows it. So no stage waits for memory that only later stages can free while
/// they wait for it.
///
/// One task enters blocks, others may make other blocks of them, and one takes them out. The size
/// of a result is estimated from earlier ones: nothing is known about the first, so there is no
/// second block until it was made. A result larger than all before is counted when it is made.
class prefetch_throttle {
 public:
  /// `makes`: the blocks that leave are made of those that enter.
  prefetch_throttle(const std::string& stage, bool makes)
      : stage_(stage), makes_(makes), freed_(0, 1, stage + " memory") {}

  /// Call it before the stage starts.
  void begin(memory_use& memory) noexcept { memory_ = memory.limited() ? &memory : nullptr; }
  [[nodiscard]] bool limited() const noexcept { return memory_ != nullptr; }

  /// Returns true if the next block may be requested.
  [[nodiscard]] bool has_space() const noexcept;
  /// Waits until a block has left. Errors: cancelled.
  [[nodiscard]] task<void> wait();

  /// Counts a block that enters with its bytes, and the estimated size of its result. Returns the
  /// bytes counted. Errors: resource_exhausted; see memory_use.
  [[nodiscard]] std::size_t enter(std::size_t bytes);
  /// Replaces the count `before` of a block, now that its result has `output` bytes.
  [[nodiscard]] std::size_t change(std::size_t before, std::size_t input, std::size_t output);
  /// Counts a block that leaves.
  void leave(std::size_t bytes);

 private:
  void grow(std::size_t bytes);

  const std::string stage_;
  const bool makes_;
  memory_use* memory_ = nullptr;
  // relaxed: figures that make a stage at most one block too fast
  std::atomic<std::size_t> blocks_{0};
  std::atomic<std::size_t> made_{0};     // largest result of one block
  std::atomic<std::size_t> largest_{0};  // largest block, with its result
  semaphore freed_;                      // stores one signal that a block has left
};

}  // namespace LEAT::detail
