#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/any_block.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/stage/detail/apply.hpp"
#include "leat/pipeline/stage/detail/element_pace.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/pipeline/stage/detail/prefetch_throttle.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace LEAT::detail {

/// A parallel_map_stage, as its tasks see it.
class mapped_input {
 public:
  /// See any_stage::start().
  virtual void start_input(pipeline_context& context) = 0;
  [[nodiscard]] virtual std::unique_ptr<any_block> make_input_block() const = 0;
  [[nodiscard]] virtual std::unique_ptr<any_block> make_output_block() const = 0;
  [[nodiscard]] virtual task<bool> read(any_block& block) = 0;
  /// Applies the function; see applying_stage::make().
  [[nodiscard]] virtual task<std::exception_ptr> apply(any_block& in, any_block& out,
                                                       arity_counts& counts,
                                                       element_pace& pace) const = 0;

  /// Begins an output block with the rest that precedes everything else. Returns true if that has
  /// elements. Sets `error` if an error follows them.
  [[nodiscard]] virtual bool begin_output(void* block, std::exception_ptr& error) = 0;
  /// Exchanges an output block for a result of apply(). Returns true if that has elements.
  [[nodiscard]] virtual bool take_output(void* block, any_block& made, bool has_failed,
                                         arity_counts&& counts) = 0;

 protected:
  mapped_input() = default;
  mapped_input(const mapped_input&) = default;
  mapped_input& operator=(const mapped_input&) = default;
  ~mapped_input() = default;
};

/// The tasks and the queues of a parallel_map_stage, for blocks of any types.
class parallel_map_tasks {
 public:
  parallel_map_tasks(mapped_input& stage, stage_metrics& metrics, std::size_t workers,
                     ordering order);
  parallel_map_tasks(const parallel_map_tasks&) = delete;
  parallel_map_tasks& operator=(const parallel_map_tasks&) = delete;
  ~parallel_map_tasks();

  void start(pipeline_context& context);
  /// Like stage::next(), for a block of the type of the output.
  [[nodiscard]] task<bool> next(void* block);
  [[nodiscard]] ordering order() const noexcept { return order_; }

 private:
  using block_ptr = std::unique_ptr<any_block>;

  // The elements made of one block of the input, and the error after them.
  struct work_result {
    block_ptr block;
    std::exception_ptr error;
    arity_counts counts;
  };
  struct lane {
    lane(const std::string& name, std::size_t capacity, std::size_t live_workers)
        : in(capacity, name + " in"), out(capacity, name + " out"), live(live_workers) {}
    fifo_queue<block_ptr> in;
    fifo_queue<work_result> out;
    std::atomic<std::size_t> live;  // workers
  };

  task<void> distribute();
  task<void> work(lane& l);
  task<std::optional<block_ptr>> pop(lane& l);

  mapped_input& stage_;
  stage_metrics& metrics_;
  const std::size_t workers_;
  const ordering order_;
  std::vector<std::unique_ptr<lane>> lanes_;
  any_block_recycler recycler_;  // of the input
  prefetch_throttle throttle_;
  std::size_t taken_ = 0;     // index of the next lane
  std::exception_ptr error_;  // for the next call
};

}  // namespace LEAT::detail
