#pragma once

#include <iosfwd>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "leat/async/detail/select_state.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/wait_for_stop.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

// The branches of a select for the waits of leat's own that are not operations; the branch of an
// operation is in async/operation/detail.

template <>
inline constexpr const char* plural_name<sleep_wait> = " timers";
template <>
inline constexpr const char* plural_name<stop_wait> = " stops";

template <>
class select_branch<sleep_wait> : private timer {
 public:
  select_branch(sleep_wait&& operation, select_state& s, int index) noexcept
      : select_branch(operation.end(), operation.where(), s, index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(unstarted.end_, unstarted.where_, s, index) {}
  ~select_branch() { withdraw(); }
  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin();
  void withdraw() noexcept;
  [[nodiscard]] std::monostate result() const noexcept { return {}; }
  void describe(std::ostream& out) const;
  void describe_limit(std::ostream& out, bool expired) const;
  [[nodiscard]] limit_end as_limit() const noexcept;

 private:
  friend std::string to_text(const timer& t);

  select_branch(const sleep_end& end, const std::source_location& where, select_state& s,
                int index) noexcept
      : timer(&expired), end_(end), where_(where), select_state_(s), index_(index) {}
  static void expired(timer& t) noexcept;

  const sleep_end end_;
  const std::source_location where_;
  select_state& select_state_;
  const int index_;
};

template <>
class select_branch<stop_wait> {
 public:
  select_branch(stop_wait&& operation, select_state& s, int index) noexcept
      : where_(operation.where()),
        token_(std::move(operation).release()),
        select_state_(s),
        index_(index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : where_(unstarted.where_),
        token_(std::move(unstarted.token_)),
        select_state_(s),
        index_(index) {}
  [[nodiscard]] bool try_complete() const noexcept { return token_.stop_requested(); }
  [[nodiscard]] bool begin();
  void withdraw() noexcept { callback_.reset(); }
  [[nodiscard]] std::monostate result() const noexcept { return {}; }
  void describe(std::ostream& out) const;
  void describe_limit(std::ostream& out, bool expired) const;
  [[nodiscard]] limit_end as_limit() const noexcept { return {errc::cancelled, where_}; }

 private:
  struct forward {
    const select_branch* self;
    void operator()() const noexcept {
      if (self->select_state_.claim(self->index_)) self->select_state_.wake();
    }
  };

  const std::source_location where_;
  std::stop_token token_;
  select_state& select_state_;
  const int index_;
  std::optional<std::stop_callback<forward>> callback_;
};

template <>
class select_branch<task_group::join_wait> {
 public:
  select_branch(task_group::join_wait&& operation, select_state& s, int index) noexcept;
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(std::move(unstarted.operation_), s, index) {}
  ~select_branch() { withdraw(); }
  [[nodiscard]] bool try_complete() const noexcept;
  [[nodiscard]] bool begin();
  void withdraw() noexcept;
  std::monostate result();
  void describe(std::ostream& out) const;

 private:
  task_group::join_wait operation_;
};

}  // namespace LEAT::detail
