#pragma once

#include <cstdint>
#include <string>

#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/input_block.hpp"
#include "leat/pipeline/state/detail/batch_numbers.hpp"
#include "leat/pipeline/state/detail/saved_stage.hpp"

namespace LEAT::detail {

class pipeline_context;

/// A stage with elements of any type.
class any_stage {
 public:
  any_stage() = default;
  any_stage(const any_stage&) = delete;
  any_stage& operator=(const any_stage&) = delete;
  virtual ~any_stage() = default;

  /// Returns the stage before this one; null for a source.
  [[nodiscard]] virtual any_stage* previous() const noexcept { return nullptr; }

  /// Starts the tasks of this stage and of those before it. Once, before the first next().
  virtual void start(pipeline_context& context) = 0;

  /// Returns true if this stage, or one before it, has tasks.
  [[nodiscard]] virtual bool has_tasks() const noexcept { return false; }

  // ---- Save and restore. pipeline_core calls these functions for one stage after another.

  /// Returns the reason why the pipeline cannot be saved; empty if it can.
  [[nodiscard]] virtual std::string save_error() const = 0;

  /// Returns the declaration of this stage, as far as it matters. A stage without a kind has no
  /// state.
  [[nodiscard]] virtual saved_stage describe() const { return {}; }
  /// Sets `own` to the state of this stage before an element, and returns its position in its
  /// input. `batches`: the batches of the last batch() so far that later stages need again.
  /// Precondition: no block of these is forgotten.
  [[nodiscard]] virtual block_position save(block_position before, batch_numbers& batches,
                                            std::string& own) const;

  /// Restores the state of this stage, which has the type that describe() names, after the stages
  /// before it have been restored. Call it before start(). Errors: failed_precondition for files
  /// that have changed; errors of the source; exceptions of functions. Call rewind() after an
  /// error.
  [[nodiscard]] virtual task<void> restore(stage_state& state);
  /// Returns this stage to the beginning, before start().
  virtual void rewind() noexcept {}

  /// Drops the positions and origins before the beginning of a block, here and in the stages
  /// before.
  virtual void forget(std::uint64_t) noexcept {}

  /// Destroys the functions of this stage and of those before it that the program passed; a stage
  /// without its function fails with `cancelled`.
  /// Precondition: no thread is calling them.
  virtual void drop_functions() noexcept {}
};

}  // namespace LEAT::detail
