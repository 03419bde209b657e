#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/core/task.hpp"
#include "leat/core/task_group.hpp"
#include "leat/pipeline/pipeline_options.hpp"
#include "leat/pipeline/stage_metrics.hpp"

namespace leat::detail {

/// Refuses patterns that match no file. Errors: not_found, with the stage and the patterns.
void require_files(const std::vector<std::string>& found, const std::vector<std::string>& patterns,
                   std::string_view stage);

/// What the stages of a pipeline share: its options and metrics and, once it runs, its tasks.
///
/// Thread safety: thread-bound, apart from the metrics.
class pipeline_core {
 public:
  explicit pipeline_core(pipeline_options options);

  [[nodiscard]] const pipeline_options& options() const noexcept { return options_; }

  /// Adds a stage behind those that are there. Errors: invalid_argument for a name that is empty or
  /// that another stage has.
  stage_metrics& add_stage(std::string name);
  /// All of them and, as the last one, the consumer.
  [[nodiscard]] std::vector<const stage_metrics*> stages() const;
  [[nodiscard]] stage_metrics& consumer() noexcept { return consumer_; }

  /// Refuses a declaration: "pipeline 'train', stage 'shuffle': " and why.
  [[noreturn]] void refuse(std::string_view stage, std::string_view why) const;

  /// The pipeline begins to run, in the task of its consumer.
  void start();
  [[nodiscard]] bool runs() const noexcept { return group_.has_value(); }
  /// Starts a task of a stage, on the consumer's scheduler or on that of worker `index`.
  void spawn(task<void> t, const stage_metrics& stage, std::string_view what);
  void spawn_worker(task<void> t, const stage_metrics& stage, std::size_t index);
  /// Elements that were left over, and are not given out.
  void add_dropped(std::uint64_t count) noexcept { dropped_ += count; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  /// Stops all tasks and waits for their ends. Errors: none of theirs.
  [[nodiscard]] task<void> stop();

 private:
  const pipeline_options options_;
  std::vector<std::unique_ptr<stage_metrics>> stages_;
  stage_metrics consumer_{"consumer"};
  std::atomic<std::uint64_t> dropped_{0};
  scheduler* home_ = nullptr;
  std::optional<task_group> group_;
  std::optional<at_work> consuming_;
};

}  // namespace leat::detail
