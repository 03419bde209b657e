#pragma once

#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/pipeline/element/detail/input_block.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/stage/detail/any_stage.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/pipeline/state/detail/match_state.hpp"

namespace LEAT::detail {

/// A pipeline with elements of any type: everything that is done once for each block, compiled
/// once. The derived class has the last stage and the block whose elements next() returns.
class pipeline_core {
 protected:
  explicit pipeline_core(pimpl<pipeline_context> context) noexcept;
  pipeline_core(pipeline_core&&) noexcept = default;
  pipeline_core& operator=(pipeline_core&&) = delete;
  virtual ~pipeline_core() = default;

  [[nodiscard]] pipeline_context& context() const { return checked_context(context_); }

  /// Adds a prefetch stage of one block.
  using prefetch_adder = void (*)(pipeline_core&, stage_metrics&);

  /// Reads the next block if no element is left. Returns false at the end of the input.
  /// Precondition: the pipeline is in use.
  [[nodiscard]] task<bool> read(prefetch_adder add_prefetch);
  // The implementations of functions of pipeline.
  [[nodiscard]] task<void> stop_core();
  [[nodiscard]] std::string save_core() const;
  [[nodiscard]] task<void> restore_core(std::vector<std::string> states, state_matcher choose);

  exclusive_use in_use_;
  pimpl<pipeline_context> context_;
  bool ended_ = false;

 private:
  /// The last stage; null once the pipeline has ended.
  [[nodiscard]] virtual any_stage* last() const noexcept = 0;
  virtual void remove_last() noexcept = 0;

  /// The position of the next element in the last stage.
  [[nodiscard]] virtual block_position position() const noexcept = 0;
  [[nodiscard]] virtual bool has_elements() const noexcept = 0;
  /// Replaces the elements; see stage::next(). Call end_block() if the result is true.
  [[nodiscard]] virtual task<bool> begin_block() = 0;
  virtual void end_block() noexcept = 0;
  virtual void clear_block() noexcept = 0;
  /// Returns to the beginning.
  virtual void restart_block() noexcept = 0;

  void start(prefetch_adder add_prefetch);
  [[nodiscard]] task<void> end();
  [[nodiscard]] std::string state() const;
  /// The stages from the source to the last one.
  [[nodiscard]] std::vector<any_stage*> chain() const;

  std::string end_;         // the state then
  std::string save_error_;  // why there is none
};

}  // namespace LEAT::detail
