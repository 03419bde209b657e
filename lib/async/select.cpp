#include "leat/async/select.hpp"

#include <ostream>
#include <string>

#include "leat/base/error.hpp"

namespace leat::detail {

const wait::kind selection::select_kind{"select", &selection::cancel, &selection::describe};

void selection::cancel(wait& w) noexcept {
  auto& self = static_cast<selection&>(w);
  if (self.claim(stop)) self.wake();
}

void selection::describe(const wait& w, std::ostream& out) {
  const auto& self = static_cast<const selection&>(w);
  self.describe_all_(self, out);
}

failure select_cancelled(const std::string& what) { return {errc::cancelled, "select of " + what}; }

failure ended_by(errc end, const std::string& what) {
  return {end, what + (end == errc::deadline_exceeded ? ": not done in time, nothing has changed"
                                                      : ": stopped, nothing has changed")};
}

// ----------------------------------------------------------------------------------------- timers

void arm<sleep_wait>::expired(timer& t) noexcept {
  auto& self = static_cast<arm&>(t);
  if (self.selection_.claim(self.index_)) self.selection_.wake();
}

bool arm<sleep_wait>::begin() {
  scheduler& home = *selection_.home();
  home.add_timer(*this, end_.from_now(home));
  return false;
}

void arm<sleep_wait>::withdraw() noexcept {
  if (is_set()) selection_.home()->cancel_timer(*this);
}

void arm<sleep_wait>::describe(std::ostream& out) const { out << "a timer"; }

// ------------------------------------------------------------------------------------------ stops

bool arm<stop_wait>::begin() {
  callback_.emplace(token_, forward{this});  // which a stop made meanwhile calls at once
  return false;
}

void arm<stop_wait>::describe(std::ostream& out) const { out << "a stop"; }

// ------------------------------------------------------------------------------------- task groups

arm<task_group::join_wait>::arm(task_group::join_wait&& operation, selection& s, int index) noexcept
    : operation_(std::move(operation)) {
  operation_.select_in(s, index);
}

bool arm<task_group::join_wait>::try_now() const noexcept { return operation_.holds_now(); }

bool arm<task_group::join_wait>::begin() { return operation_.begin_selected(); }

void arm<task_group::join_wait>::withdraw() noexcept { operation_.withdraw(); }

std::monostate arm<task_group::join_wait>::result() {
  operation_.await_resume();
  return {};
}

void arm<task_group::join_wait>::describe(std::ostream& out) const {
  out << "join ";
  operation_.what().describe(operation_, out);
}

}  // namespace leat::detail

namespace leat {

// ---------------------------------------------------------------- a wait on a scope, in a select

void condition_wait::select_in(detail::selection& s, int index) noexcept {
  selection_ = &s;
  index_ = index;
  run_ = [](work_item& item) noexcept { static_cast<condition_wait&>(item).selection_->wake(); };
}

bool condition_wait::holds_now() const noexcept {
  const detail::thread_lock lock(scope_.mutex_);
  return scope_.holds(conditions_);
}

bool condition_wait::begin_selected() noexcept {
  if (const context* c = selection_->task(); c && &c->scope() == &scope_) {
    result_ = outcome::own;
    return claim();
  }
  const detail::thread_lock lock(scope_.mutex_);
  if (scope_.holds(conditions_)) return claim();
  link_into_scope();
  return false;
}

void condition_wait::withdraw() noexcept {
  const detail::thread_lock lock(scope_.mutex_);
  if (linked_.load(std::memory_order_relaxed)) scope_.unlink(*this);
}

}  // namespace leat
