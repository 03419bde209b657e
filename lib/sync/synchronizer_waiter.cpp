#include "leat/sync/synchronizer_waiter.hpp"

#include <ostream>
#include <string>

#include "async/dump/internal/process_snapshot.hpp"
#include "base/internal/append_text.hpp"
#include "leat/sync/synchronizer.hpp"

namespace LEAT {

void synchronizer_waiter::cancel(wait_operation& w) noexcept {
  synchronizer::cancel(static_cast<synchronizer_waiter&>(w));
}

void synchronizer_waiter::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const synchronizer_waiter&>(w);
  if (self.is_selected() || self.linked_.load(std::memory_order_acquire)) {
    std::string text;
    self.append_object_to(text);
    out << text;
    return;
  }
  out << w.what().object;  // it has ended, and its object may be gone
  switch (self.outcome_) {
    case wait_outcome::done: out << ", completed"; return;
    case wait_outcome::closed: out << ", closed"; return;
    case wait_outcome::cancelled: out << ", cancelled"; return;
    case wait_outcome::late: out << ", expired"; return;
    case wait_outcome::waiting:
    case wait_outcome::failed:
    case wait_outcome::exhausted: return;
  }
}

void synchronizer_waiter::inspect(const wait_operation& w, wait_target& target) {
  const auto& self = static_cast<const synchronizer_waiter&>(w);
  if (self.linked_.load(std::memory_order_acquire)) self.object_.describe_wait(self, target);
}

detail::waiting_operation synchronizer_waiter::operation() const noexcept {
  detail::waiting_operation o = waiter::operation();
  o.asked = object_.requested(*this);
  return o;
}

void synchronizer_waiter::append_object_to(std::string& text) const {
  if (const std::size_t n = object_.requested(*this); n > 1) detail::append_text(text, n, " of ");
  object_.append_to(text);
}

failure synchronizer_waiter::failed() const {
  std::string text(what().verb);
  text += ' ';
  append_object_to(text);
  if (outcome_ == wait_outcome::late) text += ": timed out without effect";
  return {error(), text};
}

}  // namespace LEAT
