#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/pipeline/stage/internal/step_observer.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT::detail {

/// The steps of one call of for_each(), with or without an observer.
class observed_steps {
 public:
  explicit observed_steps(pipeline_context& context) noexcept;
  observed_steps(const observed_steps&) = delete;
  observed_steps& operator=(const observed_steps&) = delete;
  ~observed_steps();

  [[nodiscard]] bool must_wait() const noexcept {
    return observer_ && observer_->must_wait(in_step_);
  }
  /// Like must_wait(), for an element that has been taken and whose step has not begun.
  [[nodiscard]] bool must_wait_to_process() const noexcept {
    return observer_ && observer_->must_wait(true);
  }
  [[nodiscard]] task<void> wait();

  void begin() noexcept {
    in_step_ = true;
    if (observer_) observer_->begin_step(step_);
  }
  void end(bool finished) noexcept {
    const bool was_in_step = std::exchange(in_step_, false);
    if (was_in_step && observer_) observer_->end_step(step_, finished);
  }

 private:
  pipeline_context& context_;
  std::shared_ptr<step_observer> observer_;
  step_in_progress step_;
  bool in_step_ = false;
};

/// Calls `body` for each element of a pipeline.
template <class Pipeline, class Body>
[[nodiscard]] task<void> give_each(Pipeline& from, Body& body, observed_steps& steps) {
  using value_type = typename Pipeline::value_type;
  for (;;) {
    if (steps.must_wait()) co_await steps.wait();
    std::optional<value_type> element = co_await from.next();
    if (!element) break;
    if constexpr (std::is_void_v<std::invoke_result_t<Body&, value_type>>) {
      if (steps.must_wait_to_process()) {
        steps.begin();
        co_await steps.wait();
        steps.end(true);  // nothing else runs before the function has returned
      }
      std::invoke(body, std::move(*element));
    } else {
      steps.begin();
      if (steps.must_wait()) co_await steps.wait();
      co_await std::invoke(body, std::move(*element));
      steps.end(true);
    }
  }
}

/// Implements pipeline::for_each(). `ended`: the pipeline has ended.
template <class Pipeline, class Body>
[[nodiscard]] task<void> for_each(Pipeline& from, Body body, pipeline_context& context,
                                  const bool& ended) {
  observed_steps steps(context);
  std::exception_ptr error;
  try {
    co_await give_each(from, body, steps);
  } catch (...) {
    error = std::current_exception();
  }
  steps.end(false);
  int attempts = 0;
  while (!ended) {
    ++attempts;
    try {
      co_await from.stop();
    } catch (const std::bad_alloc&) {
      if (attempts == 2) throw;
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace LEAT::detail

LEAT_LOCAL_TYPES_END
