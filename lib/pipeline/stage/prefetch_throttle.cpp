#include "leat/pipeline/stage/detail/prefetch_throttle.hpp"

namespace LEAT::detail {

// A stage without a block may always request one. A stage that has one waits until the memory
// budget has space for the largest block so far. It is resumed when one of its own blocks leaves,
// or when the first size is known. Memory that another stage frees resumes nothing. This costs
// speed but never progress: a stage that waits has a block, and checks again when that leaves.

bool prefetch_throttle::has_space() const noexcept {
  if (!memory_ || blocks_.load(std::memory_order_relaxed) == 0) return true;
  const std::size_t largest = largest_.load(std::memory_order_relaxed);
  return largest > 0 && memory_->has_space(largest);
}

task<void> prefetch_throttle::wait() { (co_await freed_.acquire()).forget(); }

std::size_t prefetch_throttle::enter(std::size_t bytes) {
  if (!memory_) return 0;
  blocks_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t all = bytes + made_.load(std::memory_order_relaxed);
  memory_->add(static_cast<std::int64_t>(all));
  // The size of the result is unknown yet, so what is required does not depend on timing.
  if (makes_) {
    memory_->require(stage_, bytes);
  } else {
    grow(bytes);
  }
  return all;
}

std::size_t prefetch_throttle::change(std::size_t before, std::size_t input, std::size_t output) {
  if (!memory_) return 0;
  memory_->add(static_cast<std::int64_t>(output) - static_cast<std::int64_t>(before));
  std::size_t known = made_.load(std::memory_order_relaxed);
  while (output > known && !made_.compare_exchange_weak(known, output)) {
  }
  grow(input + output);
  return output;
}

void prefetch_throttle::leave(std::size_t bytes) {
  if (!memory_) return;
  memory_->add(-static_cast<std::int64_t>(bytes));
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  // After the counts: the task that this resumes reads them.
  freed_.release();
}

void prefetch_throttle::grow(std::size_t bytes) {
  std::size_t known = largest_.load(std::memory_order_relaxed);
  if (bytes <= known) return;
  const bool first = known == 0;
  while (bytes > known && !largest_.compare_exchange_weak(known, bytes)) {
  }
  memory_->require(stage_, bytes);
  if (first) freed_.release();  // wakes a task that waited for this size
}

}  // namespace LEAT::detail
