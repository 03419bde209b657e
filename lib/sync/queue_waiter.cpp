#include "leat/sync/detail/queue_waiter.hpp"

#include <ostream>
#include <sstream>
#include <utility>

#include "leat/core/context.hpp"
#include "leat/core/detail/selection.hpp"
#include "leat/core/detail/thread_place.hpp"
#include "leat/core/error.hpp"
#include "leat/sync/partial_push.hpp"
#include "leat/sync/queue_base.hpp"

namespace leat::detail {

const wait::kind queue_waiter::push_kind{"push to", &queue_waiter::cancel, &queue_waiter::describe,
                                         &queue_waiter::inspect};
const wait::kind queue_waiter::pop_kind{"pop from", &queue_waiter::cancel, &queue_waiter::describe,
                                        &queue_waiter::inspect};

void queue_waiter::cancel(wait& w) noexcept {
  auto& self = static_cast<queue_waiter&>(w);
  self.queue_.cancel(self);
}

void queue_waiter::describe(const wait& w, std::ostream& out) {
  const auto& self = static_cast<const queue_waiter&>(w);
  self.queue_.describe(out);
  if (self.count_ <= 1) return;
  out << ", " << self.queue_.moved_by(self) << " of " << self.count_ << " done";
}

void queue_waiter::inspect(const wait& w, wait_object& object) {
  const auto& self = static_cast<const queue_waiter&>(w);
  self.queue_.inspect(self, object);
}

task_id queue_waiter::task() const noexcept {
  const context* const c =
      selected_ ? static_cast<const selected_queue_waiter&>(*this).selection_.task() : context_;
  return c ? c->id() : thread_place::id_if_blocked_on(*this);
}

selected_queue_waiter::selected_queue_waiter(queue_base& queue, role r, void* items,
                                             std::size_t count, selection& s, int index,
                                             const std::source_location& where) noexcept
    : queue_waiter(queue, r, items, count, where), selection_(s), index_(index) {
  selected_ = true;
  run_ = [](work_item& item) noexcept {
    static_cast<selected_queue_waiter&>(item).selection_.wake();
  };
}

bool queue_waiter::claim_selection() noexcept {
  auto& self = static_cast<selected_queue_waiter&>(*this);
  return self.selection_.claim(self.index_);
}

std::string queue_waiter::text() const {
  std::ostringstream out;
  out << what().verb << ' ';
  describe(*this, out);
  return std::move(out).str();
}

// What a throw leaves to be destroyed in its own function costs as much as the throw: so the
// exceptions are made in functions of their own.
failure queue_waiter::cancelled() const { return {errc::cancelled, text()}; }

partial_push queue_waiter::partial() const {
  const bool failed = outcome_ == queue_outcome::failed;
  return {text(), moved_, failed ? queue_.failure_cause() : nullptr};
}

failure queue_waiter::exhausted() const {
  return {errc::resource_exhausted,
          text() +
              ": they are never there together, since the next item is too heavy to come in; "
              "ask for fewer, or allow more weight"};
}

void queue_waiter::throw_outcome() const {
  if (outcome_ == queue_outcome::exhausted) throw exhausted();
  if (outcome_ == queue_outcome::failed) {
    if (role_ == role::push && moved_ > 0) throw partial();
    std::rethrow_exception(queue_.failure_cause());
  }
  if (role_ == role::push && count_ > 1) throw partial();
  throw cancelled();
}

}  // namespace leat::detail
