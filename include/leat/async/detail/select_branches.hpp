#pragma once

#include <iosfwd>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

#include "leat/async/detail/select_state.hpp"
#include "leat/async/detail/timer_heap.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/wait_for_stop.hpp"

namespace leat::detail {

// Places in a select of the waits that are on no queue; that of a queue operation is in
// queue/detail/queue_select_branch.hpp.

template <>
class arm<sleep_wait> : private timer {
 public:
  arm(sleep_wait&& operation, selection& s, int index) noexcept : arm(operation.end(), s, index) {}
  arm(arm&& unstarted, selection& s, int index) noexcept : arm(unstarted.end_, s, index) {}
  ~arm() { withdraw(); }
  [[nodiscard]] bool try_now() const noexcept { return false; }
  [[nodiscard]] bool begin();
  void withdraw() noexcept;
  [[nodiscard]] std::monostate result() const noexcept { return {}; }
  void describe(std::ostream& out) const;

 private:
  arm(const sleep_end& end, selection& s, int index) noexcept
      : timer(&expired), end_(end), selection_(s), index_(index) {}
  static void expired(timer& t) noexcept;

  const sleep_end end_;
  selection& selection_;
  const int index_;
};

template <>
class arm<stop_wait> {
 public:
  arm(stop_wait&& operation, selection& s, int index) noexcept
      : token_(std::move(operation).release()), selection_(s), index_(index) {}
  arm(arm&& unstarted, selection& s, int index) noexcept
      : token_(std::move(unstarted.token_)), selection_(s), index_(index) {}
  [[nodiscard]] bool try_now() const noexcept { return token_.stop_requested(); }
  [[nodiscard]] bool begin();
  void withdraw() noexcept { callback_.reset(); }
  [[nodiscard]] std::monostate result() const noexcept { return {}; }
  void describe(std::ostream& out) const;

 private:
  struct forward {
    const arm* self;
    void operator()() const noexcept {
      if (self->selection_.claim(self->index_)) self->selection_.wake();
    }
  };

  std::stop_token token_;
  selection& selection_;
  const int index_;
  std::optional<std::stop_callback<forward>> callback_;
};

template <>
class arm<task_group::join_wait> {
 public:
  arm(task_group::join_wait&& operation, selection& s, int index) noexcept;
  arm(arm&& unstarted, selection& s, int index) noexcept
      : arm(std::move(unstarted.operation_), s, index) {}
  ~arm() { withdraw(); }
  [[nodiscard]] bool try_now() const noexcept;
  [[nodiscard]] bool begin();
  void withdraw() noexcept;
  std::monostate result();
  void describe(std::ostream& out) const;

 private:
  task_group::join_wait operation_;
};

}  // namespace leat::detail
