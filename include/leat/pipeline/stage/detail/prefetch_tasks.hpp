#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/any_block.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/pipeline/stage/detail/prefetch_throttle.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace LEAT::detail {

/// The stages before a prefetch_stage, as its task sees them.
class prefetched_input {
 public:
  [[nodiscard]] virtual std::unique_ptr<any_block> make_block() const = 0;
  [[nodiscard]] virtual task<bool> read(any_block& block) = 0;
  /// See any_stage::forget().
  virtual void forget_input(std::uint64_t block) noexcept = 0;
  virtual void destroy_input() noexcept = 0;

 protected:
  prefetched_input() = default;
  prefetched_input(const prefetched_input&) = default;
  prefetched_input& operator=(const prefetched_input&) = default;
  ~prefetched_input() = default;
};

/// The task and the queue of a prefetch_stage, for blocks of any type.
class prefetch_tasks {
 public:
  prefetch_tasks(prefetched_input& input, stage_metrics& metrics, std::size_t blocks,
                 bool on_worker);
  prefetch_tasks(const prefetch_tasks&) = delete;
  prefetch_tasks& operator=(const prefetch_tasks&) = delete;
  ~prefetch_tasks();

  void start(pipeline_context& context);
  /// Like stage::next(), for a block of the input's type.
  [[nodiscard]] task<bool> next(void* block);
  [[nodiscard]] bool on_worker() const noexcept { return on_worker_; }

 private:
  task<void> wait_for_memory();
  task<void> fill();

  prefetched_input& input_;
  stage_metrics& metrics_;
  fifo_queue<std::unique_ptr<any_block>> queue_;
  prefetch_throttle throttle_;
  any_block_recycler recycler_;
  const bool on_worker_;
};

}  // namespace LEAT::detail
