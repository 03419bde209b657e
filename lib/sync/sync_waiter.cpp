#include "leat/sync/detail/sync_waiter.hpp"

#include <ostream>
#include <string>

#include "async/dump/process_snapshot.hpp"
#include "base/append_text.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/sync/detail/blocking_sync_waiter.hpp"
#include "leat/sync/detail/sync_base.hpp"

namespace leat::detail {

void sync_waiter::cancel(wait_operation& w) noexcept {
  sync_base::cancel(static_cast<sync_waiter&>(w));
}

bool sync_waiter::abandon() noexcept {
  if (sync_base::abandon(*this)) return false;
  withdraw_wakeup();
  return outcome_ == sync_outcome::done;
}

void sync_waiter::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const sync_waiter&>(w);
  if (self.linked_.load(std::memory_order_acquire)) return self.describe_object(out);
  out << w.what().object;
  switch (self.outcome_) {
    case sync_outcome::waiting: return;
    case sync_outcome::done: out << ", completed"; return;
    case sync_outcome::closed: out << ", closed"; return;
    case sync_outcome::cancelled: out << ", cancelled"; return;
    case sync_outcome::late: out << ", expired"; return;
  }
}

void sync_waiter::describe_object(std::ostream& out) const {
  std::string text;
  append_object_to(text);
  out << text;
}

void sync_waiter::inspect(const wait_operation& w, wait_target& target) {
  const auto& self = static_cast<const sync_waiter&>(w);
  if (self.linked_.load(std::memory_order_acquire)) self.object_.describe_wait(self, target);
}

const task_context* sync_waiter::waiting_task() const noexcept {
  if (!selected_) return context_;
  return static_cast<const selected_sync_waiter&>(*this).select_state_.task();
}

const scheduler* sync_waiter::waiting_on() const noexcept {
  if (!selected_) return get_scheduler();
  return static_cast<const selected_sync_waiter&>(*this).select_state_.get_scheduler();
}

task_id sync_waiter::task_if_rare() const noexcept {
  if (const task_context* const c = waiting_task()) return c->id();
  if (run_ != &blocking_sync_waiter::unpark) return {};
  return static_cast<const blocking_sync_waiter&>(*this).thread_;
}

bool sync_waiter::claim_select() noexcept {
  auto& self = static_cast<selected_sync_waiter&>(*this);
  return self.select_state_.claim(self.index_);
}

selected_sync_waiter::selected_sync_waiter(sync_base& object, const kind& k, std::size_t request,
                                           select_state& s, int index,
                                           const std::source_location& where) noexcept
    : sync_waiter(object, k, request, where), select_state_(s), index_(index) {
  selected_ = true;
  run_ = [](work_item& item) noexcept {
    static_cast<selected_sync_waiter&>(item).select_state_.wake();
  };
}

waiting_operation sync_waiter::operation() const noexcept {
  using waiter = waiting_operation::waiter;
  waiting_operation o;
  o.verb = what().verb.substr(0, what().verb.find(' '));  // "send" of "send to"
  o.selected = selected_;
  o.wait = static_cast<const wait_operation*>(this);
  o.at = where();
  o.asked = object_.requested(*this);
  if (const task_context* const c = waiting_task()) {
    o.task = c->id();
  } else if (selected_ || resumes_coroutine()) {
    o.who = waiter::coroutine;
  } else {
    o.who = run_ == &blocking_sync_waiter::unpark ? waiter::thread : waiter::handler;
  }
  return o;
}

std::error_code sync_waiter::error() const noexcept {
  switch (outcome_) {
    case sync_outcome::cancelled: return make_error_code(errc::cancelled);
    case sync_outcome::late: return make_error_code(errc::deadline_exceeded);
    default: return {};
  }
}

void sync_waiter::append_object_to(std::string& text) const {
  if (const std::size_t n = object_.requested(*this); n > 1) append_text(text, n, " of ");
  object_.append_to(text);
}

failure sync_waiter::failed() const {
  std::string text(what().verb);
  text += ' ';
  append_object_to(text);
  if (outcome_ == sync_outcome::late) text += ": timed out without effect";
  return {error(), text};
}

}  // namespace leat::detail
