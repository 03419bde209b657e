#pragma once

#include <cstddef>
#include <exception>
#include <utility>

#include "leat/core/scheduler.hpp"
#include "leat/core/task.hpp"
#include "leat/pipeline/detail/pipeline_core.hpp"
#include "leat/pipeline/stage_metrics.hpp"
#include "leat/sync/queue_base.hpp"

namespace leat::detail {

/// A stage of a pipeline: gives elements in runs, as many at a time as suits it. Where one run ends
/// and the next begins means nothing.
///
/// One call a run, so that what an element costs is the stage's work alone.
template <class Run>
class stage {
 public:
  using run_type = Run;

  explicit stage(stage_metrics& metrics) noexcept : metrics_(metrics) {}
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  virtual ~stage() = default;

  /// Starts the tasks of this stage and of those before it. Once, before the first next().
  virtual void start(pipeline_core& core) = 0;

  /// Replaces the contents of `run` by the next elements, at least one; false at the end. Not again
  /// after the end or an error.
  [[nodiscard]] virtual task<bool> next(Run& run) = 0;

  [[nodiscard]] stage_metrics& metrics() const noexcept { return metrics_; }

 protected:
  /// What work in this scope takes is the stage's.
  [[nodiscard]] at_work working() const noexcept { return {metrics_, *scheduler::current()}; }
  /// In this scope the stage waits for others.
  [[nodiscard]] waiting waits(waiting::kind kind) const noexcept {
    return {metrics_, *scheduler::current(), kind};
  }

  /// The next run of the stage before.
  template <class In>
  [[nodiscard]] task<bool> pull(stage<In>& input, In& run) {
    const waiting w = waits(waiting::for_input);
    co_return co_await input.next(run);
  }

 private:
  stage_metrics& metrics_;
};

/// Ends a queue of the pipeline: with an error, or as its input has ended.
inline void end_queue(queue_base& queue, const std::exception_ptr& error) noexcept {
  if (error) {
    queue.fail(error);
  } else {
    queue.close();
  }
}

/// A run of the stage before, and how much of it was taken.
template <class Run>
class input_run {
 public:
  using value_type = typename Run::value_type;

  [[nodiscard]] std::size_t left() const noexcept { return run_.size() - taken_; }

  /// The next element. Precondition: one is left.
  [[nodiscard]] value_type take() {
    return std::move(*(run_.begin() + static_cast<std::ptrdiff_t>(taken_++)));
  }

  /// Where the next run is to be put; none of this one is left then.
  [[nodiscard]] Run& renew() noexcept {
    taken_ = 0;
    return run_;
  }

  /// There is none.
  void clear() noexcept { renew().clear(); }

 private:
  Run run_;
  std::size_t taken_ = 0;
};

}  // namespace leat::detail
