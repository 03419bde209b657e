#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/input_block.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/stage/detail/any_stage.hpp"
#include "leat/pipeline/stage/detail/origin_log.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT::detail {

/// Awaits stage::next() of the previous stage, and counts the time as waiting for input. First lets
/// other tasks run if the turn is over: a stage may need many blocks for one element, and all of
/// them may be in memory.
[[nodiscard]] task<bool> wait_for_input(stage_metrics& metrics, task<bool> next);

/// Awaits yield_turn(), and counts the time as waiting for input.
[[nodiscard]] task<void> wait_for_turn(stage_metrics& metrics);

/// A stage of a pipeline: delivers elements in blocks of any size. The boundary between two blocks
/// has no meaning.
///
/// One call per block, so that an element costs no more than the work of the stage.
///
/// Blocks are numbered from 0. A stage keeps its position at the beginning of each block until
/// forget(). So the stages before may run ahead, and the pipeline can be saved at the position of
/// its consumer. Origins describe what a block was made of, if a later stage needs them: see
/// origin_log.
///
/// A source needs only next() and save_error(). If its pipeline can be saved, it also overrides
/// the functions of any_stage that save and restore, and those of origin_log.
template <class Block>
class stage : public any_stage, public origin_log<Block> {
 public:
  using block_type = Block;

  explicit stage(stage_metrics& metrics) noexcept : metrics_(metrics) {}

  /// Replaces the contents of `block` by the next elements, at least one. Returns false at the end.
  /// Do not call it after the end or an error.
  [[nodiscard]] virtual task<bool> next(Block& block) = 0;

  [[nodiscard]] stage_metrics& metrics() const noexcept { return metrics_; }

  void start(pipeline_context&) override { metrics_.add_task(); }

 protected:
  /// Counts the time of this scope as work of the stage.
  [[nodiscard]] stage_work_timer working() const noexcept {
    return {metrics_, *scheduler::current()};
  }
  /// Counts the time of this scope as waiting.
  [[nodiscard]] stage_wait_timer waits(stage_wait_timer::kind kind) const noexcept {
    return {metrics_, *scheduler::current(), kind};
  }

  /// Reads the next block of the previous stage.
  template <class In>
  [[nodiscard]] task<bool> pull(stage<In>& input, In& block) {
    return wait_for_input(metrics_, input.next(block));
  }
  /// Like pull(), for a stage that reads single elements. Appends their origins to `origins`, if
  /// any.
  template <class In>
  [[nodiscard]] task<bool> pull(stage<In>& input, input_block<In>& in,
                                std::vector<origin>* origins = nullptr) {
    const bool more = co_await pull(input, in.renew());
    if (more) {
      if (origins) input.take_origins(in.next_block_number(), *origins);
      in.renewed();
    } else {
      in.clear();
    }
    co_return more;
  }

 private:
  stage_metrics& metrics_;
};

/// A stage after another one, to which it passes on all calls by default. That is all that a stage
/// needs if block n of it is block n of its input. Otherwise it knows the position in its input of
/// each block: it overrides save(), forget() and take_origins(), and replay().
template <class In, class Block>
class inner_stage : public stage<Block> {
 public:
  inner_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics)
      : stage<Block>(metrics), input_(std::move(input)) {}
  /// Null until begin_input().
  explicit inner_stage(stage_metrics& metrics) : stage<Block>(metrics) {}

  any_stage* previous() const noexcept override { return input_.get(); }
  void start(pipeline_context& context) override {
    this->metrics().add_task();
    input_->start(context);
  }
  bool has_tasks() const noexcept override { return input_->has_tasks(); }
  std::string save_error() const override { return input_->save_error(); }
  void forget(std::uint64_t block) noexcept override { input_->forget(block); }
  bool enable_origins() override { return input_->enable_origins(); }
  bool origins_are_batches() const noexcept override { return input_->origins_are_batches(); }
  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    input_->take_origins(block, all);
  }
  task<void> replay(std::span<const origin> records, typename stage<Block>::sink to) override {
    if constexpr (std::is_same_v<In, Block>) co_await input_->replay(records, std::move(to));
    co_return;
  }
  void drop_functions() noexcept override {
    if (input_) input_->drop_functions();
  }

 protected:
  [[nodiscard]] stage<In>& input() const noexcept { return *input_; }
  void begin_input(std::unique_ptr<stage<In>> input) noexcept { input_ = std::move(input); }
  // Ends the input after its last element.
  void end_input() noexcept { input_.reset(); }

 private:
  std::unique_ptr<stage<In>> input_;
};

/// Closes a queue of the pipeline, with an error if there was one.
void end_queue(queue_base& queue, const std::exception_ptr& error) noexcept;

}  // namespace LEAT::detail
