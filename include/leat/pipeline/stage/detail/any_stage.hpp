#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/input_block.hpp"
#include "leat/pipeline/state/detail/batch_numbers.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace leat::detail {

class pipeline_context;

/// A stage with elements of any type.
class any_stage {
 public:
  any_stage() = default;
  any_stage(const any_stage&) = delete;
  any_stage& operator=(const any_stage&) = delete;
  virtual ~any_stage() = default;

  /// Starts the tasks of this stage and of those before it. Once, before the first next().
  virtual void start(pipeline_context& context) = 0;

  /// Returns true if this stage, or one before it, has tasks.
  [[nodiscard]] virtual bool has_tasks() const noexcept { return false; }

  // ---- Save and restore.

  /// Returns the reason why the pipeline cannot be saved; empty if it can.
  [[nodiscard]] virtual std::string save_error() const = 0;

  /// Adds the declarations, as far as they matter, of all stages from the source to this one.
  virtual void describe(std::vector<stage_state>& stages) const = 0;
  /// Adds their states before an element. `batches`: the batches of the last batch() so far that
  /// later stages need again. Precondition: no block of these is forgotten.
  virtual void save(block_position before, batch_numbers& batches,
                    std::vector<stage_state>& stages) const = 0;

  /// Restores the states of these stages. Call it before start(). Errors: failed_precondition for
  /// files that have changed; errors of the source; exceptions of functions. Call rewind() after an
  /// error.
  [[nodiscard]] virtual task<void> restore(std::span<stage_state> stages) = 0;
  /// Returns to the beginning, before start().
  virtual void rewind() noexcept = 0;

  /// Drops the positions and origins before the beginning of a block.
  virtual void forget(std::uint64_t block) noexcept = 0;

  /// Destroys the functions of this stage and of those before it that the program passed; a stage
  /// without its function fails with `cancelled`.
  /// Precondition: no thread is calling them.
  virtual void drop_functions() noexcept {}
};

}  // namespace leat::detail
