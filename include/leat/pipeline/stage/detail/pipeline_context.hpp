#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/dump/internal/scope_handover.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/stage/detail/element_pace.hpp"
#include "leat/pipeline/stage/internal/step_observer.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"

namespace LEAT::detail {

class any_stage;

/// Returns the files that the patterns match, sorted and without duplicates. Errors: not_found,
/// with the stage, for a pattern without a match; those of match_files().
[[nodiscard]] task<std::vector<std::string>> find_files(std::vector<std::string> patterns,
                                                        std::string stage);
/// Like find_files(), but excludes the indexes of TFRecord files.
[[nodiscard]] task<std::vector<std::string>> find_tfrecord_files(std::vector<std::string> patterns,
                                                                 std::string stage);

/// Rejects fewer files than ranks. Errors: invalid_argument.
void require_files_for(std::uint64_t ranks, std::size_t files, std::string_view stage);

/// The number of records after which a restore lets other tasks run.
inline constexpr std::size_t restore_share_of_turn = 16;

/// The state that the stages of a pipeline share: its options, its metrics and, once it runs, its
/// tasks.
///
/// Thread safety: thread-bound, apart from the metrics.
class pipeline_context {
 public:
  /// Errors: invalid_argument for invalid options.
  explicit pipeline_context(pipeline_options options);
  pipeline_context(const pipeline_context&) = delete;
  pipeline_context& operator=(const pipeline_context&) = delete;
  ~pipeline_context();

  [[nodiscard]] const pipeline_options& options() const noexcept { return options_; }

  /// Adds a stage after the existing ones that needs at least `least` bytes. Errors:
  /// invalid_argument if the name is empty or another stage has it; resource_exhausted if
  /// memory_budget is too small.
  /// Precondition: the pipeline has not started.
  stage_metrics& add_stage(std::string name, std::size_t least = 0);
  /// Returns all stages and, as the last one, the consumer.
  [[nodiscard]] std::vector<const stage_metrics*> stages() const;
  [[nodiscard]] stage_metrics& consumer() noexcept { return consumer_; }
  /// The metrics of the prefetch stage that a patience adds, which is not among these stages.
  [[nodiscard]] stage_metrics& watched() noexcept { return watched_; }

  /// The memory of all stages, and its limit.
  [[nodiscard]] memory_use& memory() noexcept { return memory_; }

  /// Returns "pipeline 'train', stage 'shuffle'".
  [[nodiscard]] std::string title_of(std::string_view stage) const;
  /// Throws invalid_argument with the title of the stage and the reason.
  [[noreturn]] void throw_declaration_error(std::string_view stage, std::string_view why) const;

  /// Makes a callback for reports of corruption do nothing once the pipeline is destroyed.
  void wrap_report_handler(std::function<void(const corruption_report&)>& on_report);

  /// Errors: failed_precondition, if `save_error` is not empty: the reason against a save or a
  ///         restore.
  void require_savable(std::string_view save_error) const;

  /// Starts the pipeline in the task of its consumer.
  void start();
  [[nodiscard]] bool has_started() const noexcept { return group_.has_value(); }
  /// True between start() and the end of stop().
  [[nodiscard]] bool is_running() const noexcept { return consuming_.has_value(); }
  /// Returns true if the turn has lasted too long. The consumer calls it between two elements of a
  /// block.
  [[nodiscard]] bool should_yield() noexcept { return pace_.is_turn_over_after(1); }
  /// Starts a task of a stage, on the consumer's scheduler or on those of the workers in turn.
  void spawn(task<void> t, const stage_metrics& stage, std::string_view what);
  void spawn_worker(task<void> t, const stage_metrics& stage, std::size_t index);
  /// Elements that remained and are not delivered.
  void add_dropped(std::uint64_t count) noexcept { dropped_ += count; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  /// Returns the error for the consumer: that the patience has ended or the watchdog has failed, if
  /// one of them is the cause; else `error`.
  [[nodiscard]] std::exception_ptr find_cause(std::exception_ptr error) const noexcept {
    return stall_error_ ? stall_error_ : error;
  }

  /// The observer of the elements that for_each() processes; may be null.
  void observe_steps(std::shared_ptr<step_observer> observer) noexcept {
    observer_ = std::move(observer);
  }
  [[nodiscard]] const std::shared_ptr<step_observer>& observer() const noexcept {
    return observer_;
  }

  /// Declares that the elements of for_each() are steps.
  void set_elements_are_steps(bool are_steps) noexcept { elements_are_steps_ = are_steps; }

  /// Returns true if no element may begin: the consumer was asked to stop, or is about to be.
  [[nodiscard]] bool must_stop_now() const noexcept {
    if (!observer_) return false;
    return scheduler::current_task()->stop_requested() ||
           (elements_are_steps_ && observer_->must_stop());
  }
  /// Waits for the steps of others and throws `cancelled`.
  [[nodiscard]] task<void> stop_before_element() const;

  /// Stops all tasks and waits until they have finished. Does not throw their errors.
  [[nodiscard]] task<void> stop();

  /// Ends a pipeline that is destroyed while it runs; see ~pipeline(). `last` is the last stage.
  static void abandon(pimpl<pipeline_context> context, pimpl<any_stage> last) noexcept;

 private:
  /// Of a stage, at some time.
  struct look {
    duration waited;  ///< for input
    std::uint64_t records;
  };

  [[nodiscard]] task<void> watch(duration patience);
  void abandon_on_other_scheduler() noexcept;
  static void destroy(void* context) noexcept;
  [[nodiscard]] failure stall(duration patience, const std::vector<look>& before) const;

  const pipeline_options options_;
  memory_use memory_;
  std::vector<std::unique_ptr<stage_metrics>> stages_;
  stage_metrics consumer_{"consumer"};
  stage_metrics watched_{"watched"};
  std::atomic<std::uint64_t> dropped_{0};
  scheduler* scheduler_ = nullptr;
  element_pace pace_;  // of the consumer
  std::optional<task_group> group_;
  std::optional<stage_work_timer> consuming_;
  std::shared_ptr<step_observer> observer_;
  bool elements_are_steps_ = false;
  std::size_t next_worker_ = 0;  // index of the next worker in options_.workers
  std::exception_ptr stall_error_;
  // For a pipeline that was destroyed while it ran.
  pimpl<any_stage> last_;
  std::shared_ptr<bool> may_report_;
  std::optional<scope_handover> handover_;
  std::binary_semaphore* destroyed_ = nullptr;
};

/// Errors: invalid_argument for options that are out of range.
[[nodiscard]] pimpl<pipeline_context> make_pipeline_context(pipeline_options options);

/// Returns the context of a pipeline. Precondition: the pipeline was not moved from.
[[nodiscard]] inline pipeline_context& checked_context(const pimpl<pipeline_context>& context) {
  LEAT_ASSERT(context, "pipeline used after a move: use the object it was moved to");
  return *context;
}

}  // namespace LEAT::detail
