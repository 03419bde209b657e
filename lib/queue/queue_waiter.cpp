#include "leat/queue/detail/queue_waiter.hpp"

#include <ostream>
#include <string>

#include "async/dump/internal/process_snapshot.hpp"
#include "base/internal/append_text.hpp"
#include "base/internal/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/queue/partial_push_error.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT::detail {

const wait_operation::kind queue_waiter::push_kind{
    "push to", &queue_waiter::cancel, &queue_waiter::describe, &queue_waiter::inspect, nullptr,
    "queue"};
const wait_operation::kind queue_waiter::pop_kind{
    "pop from", &queue_waiter::cancel, &queue_waiter::describe, &queue_waiter::inspect, nullptr,
    "queue"};

void queue_waiter::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<queue_waiter&>(w);
  self.queue_.cancel(self);
}

bool queue_waiter::undo_unread() noexcept {
  if (!has_items()) return true;
  return is_queue_alive() && queue_.undo_or_fail(*this);
}

void queue_waiter::describe(const wait_operation& w, std::ostream& out) {
  std::string text;
  static_cast<const queue_waiter&>(w).append_object_to(text);
  out << text;
}

void queue_waiter::inspect(const wait_operation& w, wait_target& object) {
  const auto& self = static_cast<const queue_waiter&>(w);
  self.queue_.inspect(self, object);
}

waiting_operation queue_waiter::operation() const noexcept {
  waiting_operation o = waiter::operation();
  o.asked = count_;
  o.done = moved_;
  o.is_batch = count_ > 1;
  return o;
}

std::error_code queue_waiter::outcome_code() const noexcept {
  switch (outcome_) {
    case wait_outcome::failed: return to_error_code(queue_.failure_cause());
    case wait_outcome::exhausted: return make_error_code(errc::resource_exhausted);
    case wait_outcome::late: return make_error_code(errc::deadline_exceeded);
    default: return make_error_code(errc::cancelled);
  }
}

std::string queue_waiter::text() const {
  std::string text(what().verb);
  text.reserve(text.size() + queue_.name().size() + 100);
  text += ' ';
  append_object_to(text);
  return text;
}

void queue_waiter::append_object_to(std::string& text) const {
  queue_.append_to(text);
  if (!is_push() && queue_.has_unstarted_runner())
    text += ", with a queue_runner that was never started";
  if (count_ > 1) append_text(text, ", ", queue_.moved_count(*this), " of ", count_, " done");
}

failure queue_waiter::cancelled() const {
  const std::exception_ptr cause = queue_.failure_cause();
  if (!cause) return {error(), text()};
  return {error(), text() + ", which had failed before the stop request: " +
                       without_code_message(error_message(cause), to_error_code(cause))};
}

partial_push_error queue_waiter::partial() const {
  const std::error_code ec = error();
  if (outcome_ != wait_outcome::failed) {
    std::string message = text();
    if (outcome_ == wait_outcome::late) message += ": timed out";
    message += limit_text();
    return {ec, message, moved_};
  }
  const std::exception_ptr cause = queue_.failure_cause();
  return {ec, text() + ": " + without_code_message(error_message(cause), ec), moved_, cause};
}

failure queue_waiter::exhausted() const {
  return {error(),
          text() +
              ": the batch can never be complete, because the next item exceeds the free weight: "
              "pop fewer items or raise the limit"};
}

failure queue_waiter::late() const { return {error(), text() + ": timed out without effect"}; }

void queue_waiter::throw_outcome() const {
  if (outcome_ == wait_outcome::exhausted) throw exhausted();
  const bool failed = outcome_ == wait_outcome::failed;
  if (is_push_many() && !(failed && moved_ == 0)) throw partial();
  if (failed) std::rethrow_exception(queue_.failure_cause());
  throw late();
}

}  // namespace LEAT::detail
