#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <source_location>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

#include "leat/async/as_tuple.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

using namespace std::chrono_literals;

/// The behaviour of a transfer, and a record of it.
struct transfer_script {
  leat::duration takes = 1h;            // without a cancellation
  leat::duration cancel_takes = 5ms;    // from the cancellation to the end
  bool completes_all_the_same = false;  // in spite of the cancellation
  int moved_before_cancel = 0;          // a part that it has done when it is cancelled
  bool at_once = false;                 // completes while it starts
  bool cannot_start = false;
  std::error_code error{};  // of its own
  std::string log{};        // s: started, c: cancelled, e: ended, d: destroyed
};

/// A fake operation that moves 7 units and cannot be undone.
struct transfer {
  transfer_script& script;
  std::source_location location = std::source_location::current();
  [[nodiscard]] const std::source_location& where() const noexcept { return location; }
};

/// An operation that starts immediately and never completes; it records its start.
struct recorded_start {
  std::string& log;
  std::source_location location = std::source_location::current();
  [[nodiscard]] const std::source_location& where() const noexcept { return location; }
};

/// A pop of the only item of a one-place store; it completes while it starts, or 1 ms later.
struct take {
  std::optional<int>& store;
  leat::duration after = 1ms;
  std::source_location location = std::source_location::current();
  [[nodiscard]] const std::source_location& where() const noexcept { return location; }
};

/// A push, which cannot be undone.
struct put : take {};

}  // namespace leat_test

namespace leat::detail {

using leat_test::recorded_start;
using leat_test::take;
using leat_test::transfer;

template <>
inline constexpr bool irrevocable<transfer> = true;
template <>
inline constexpr bool undoable<leat_test::put> = false;

template <>
class select_branch<transfer> : private timer {
 public:
  select_branch(transfer&& t, select_state& s, int index) noexcept
      : timer(&expired), transfer_(t), state_(s), index_(index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(std::move(unstarted.transfer_), s, index) {}
  ~select_branch() {
    if (is_over()) return;
    script().log += 'd';
    state_.get_scheduler()->cancel_timer(*this);
  }

  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin() {
    if (script().cannot_start) throw failure(errc::resource_exhausted, "transfer: cannot start");
    script().log += 's';
    begun_ = true;
    error_ = script().error;
    if (script().at_once) {
      over_ = true;
      return state_.claim(index_);
    }
    end_after(script().takes);
    return false;
  }
  void withdraw() const noexcept {}
  [[nodiscard]] bool is_over() const noexcept { return !begun_ || over_; }
  void request_cancel() noexcept {
    script().log += 'c';
    cancelled_ = true;
    if (!script().completes_all_the_same) {
      error_ = std::make_error_code(std::errc::operation_canceled);
      moved_ = script().moved_before_cancel;
    }
    state_.get_scheduler()->cancel_timer(*this);
    end_after(script().cancel_takes);
  }
  [[nodiscard]] bool had_effect() const noexcept {
    return begun_ && (!error_ || error_ != errc::cancelled || moved_ > 0);
  }
  void interrupt(const limit_end& by) noexcept {
    if (!begun_ || error_ == errc::cancelled) error_ = make_error_code(by.code);
  }
  int result() {
    if (error_) throw failure(error_, "transfer: " + std::to_string(moved_) + " moved");
    return moved_;
  }
  leat::operation_result<int> tuple() noexcept { return {error_, moved_}; }
  void describe(std::ostream& out) const {
    out << "transfer" << (cancelled_ ? ", cancelled, not ended yet" : "");
  }

 private:
  static void expired(timer& t) noexcept {
    auto& self = static_cast<select_branch&>(t);
    self.script().log += 'e';
    self.over_ = true;
    if (self.state_.claim(self.index_) || self.cancelled_) self.state_.wake();
  }
  void end_after(duration d) {
    scheduler& sched = *state_.get_scheduler();
    sched.add_timer(*this, sched.now() + d);
  }
  [[nodiscard]] leat_test::transfer_script& script() const noexcept { return transfer_.script; }

  transfer transfer_;
  select_state& state_;
  const int index_;
  int moved_ = 7;
  bool begun_ = false;
  bool over_ = false;
  bool cancelled_ = false;
  std::error_code error_;
};

template <>
class select_branch<recorded_start> {
 public:
  select_branch(const recorded_start& o, select_state&, int) noexcept : operation_(o) {}
  select_branch(const select_branch& o, select_state& s, int i) noexcept
      : select_branch(o.operation_, s, i) {}
  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin() const {
    operation_.log += 'o';
    return false;
  }
  void withdraw() const noexcept {}
  [[nodiscard]] std::monostate result() const noexcept { return {}; }
  void describe(std::ostream& out) const { out << "nothing"; }

 private:
  recorded_start operation_;
};

template <>
class select_branch<take> : private timer {
 public:
  select_branch(const take& o, select_state& s, int index) noexcept
      : timer(&expired), take_(o), state_(s), index_(index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(unstarted.take_, s, index) {}
  ~select_branch() { withdraw(); }
  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin() {
    if (take_.after == duration::zero()) return complete();
    state_.get_scheduler()->add_timer(*this, state_.get_scheduler()->now() + take_.after);
    return false;
  }
  void withdraw() noexcept {
    if (is_set()) state_.get_scheduler()->cancel_timer(*this);
  }
  void undo() noexcept { take_.store = std::exchange(taken_, std::nullopt); }
  [[nodiscard]] int result() const noexcept { return *taken_; }
  void describe(std::ostream& out) const { out << "take"; }

 private:
  bool complete() noexcept {
    if (!state_.claim(index_)) return false;
    taken_ = std::exchange(take_.store, std::nullopt);
    return true;
  }
  static void expired(timer& t) noexcept {
    auto& self = static_cast<select_branch&>(t);
    if (self.complete()) self.state_.wake();
  }

  take take_;
  select_state& state_;
  const int index_;
  std::optional<int> taken_;
};

}  // namespace leat::detail
