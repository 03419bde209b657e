#include "leat/async/loop/detail/asio_operation_base.hpp"

#include <atomic>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>

#include "base/text/text_in_seconds.hpp"
#include "leat/async/loop/partial_transfer.hpp"
#include "leat/async/scheduler/scheduler_driver.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {
namespace {

constinit std::atomic<asio_operation_base::stream_inspector> inspector_of_streams{nullptr};

// ", peer 10.0.0.7:80 (established, 0 bytes unread, 0 unsent, last data 31.200 s ago)"
void print_stream(const wait_target& target, std::ostream& out) {
  if (target.type.empty()) return;
  out << ", peer " << target.name;
  if (!target.stream_state) return;
  const wait_target::stream& s = *target.stream_state;
  out << " (" << s.state << ", " << s.unread << (s.unread == 1 ? " byte" : " bytes") << " unread, "
      << s.unsent << " unsent";
  if (s.last_received > duration::zero()) {
    out << ", last data " << text_in_seconds(s.last_received) << " ago";
  }
  out << ')';
}

}  // namespace

void asio_operation_base::set_stream_inspector(stream_inspector f) noexcept {
  inspector_of_streams.store(f, std::memory_order_release);
}

// Returns a target without a type if there is no stream, or none that may be asked here.
wait_target asio_operation_base::find_stream(bool needs_state) const {
  wait_target target;
  target.needs_state = needs_state;
  const auto inspect = inspector_of_streams.load(std::memory_order_acquire);
  if (stream_ != 0 && inspect && scheduler_) inspect(stream_, *scheduler_, target);
  return target;
}

void asio_operation_base::initiation_failed() noexcept {
  abandoned_ = true;  // it has no effect
  // The handler is destroyed with the arguments of the initiating function.
  LEAT_ASSERT(
      state_ == state::over,
      "the initiating function of an Asio operation kept the handler and threw an exception");
}

void asio_operation_base::completed_elsewhere() noexcept {
  if (scheduler::current() == scheduler_) {
    completed_here();
    return;
  }
  // An operation that ignores the executor of the handler.
  run_ = [](work_item& item) noexcept { static_cast<asio_operation_base&>(item).completed_here(); };
  scheduler_->post(*this);
}

void asio_operation_base::completed_here() noexcept {
  // If the initiating function has not returned, is_over_after_initiation() finds that it is over.
  if (std::exchange(state_, state::over) == state::initiating) return;
  ended();
}

void asio_operation_base::abandoned() noexcept {
  scheduler& sched = *scheduler_;
  const bool is_ending_here = sched.is_ending_here();
  abandoned_ = true;
  error_ = make_error_code(errc::cancelled);
  completed();
  // Otherwise the wait, and the scheduler with it, may be gone.
  if (is_ending_here) scheduler_driver::continue_end(sched);
}

void asio_operation_base::request_end() noexcept {
  if (std::exchange(cancel_requested_, true)) return;
  cancelled_at_ = scheduler_->now();
  if (call_) call_(handler_, asio::cancellation_type::all);
  converted_.emit(asio::cancellation_type::all);
}

void asio_operation_base::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<asio_operation_base&>(w);
  if (self.state_ == state::pending) self.request_end();
}

void asio_operation_base::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const asio_operation_base&>(w);
  out << self.name();
  if (self.state_ == state::pending) print_stream(self.find_stream(true), out);
  if (!self.cancel_requested_ || self.state_ == state::over) return;
  out << cancelled_text(self.scheduler_->now() - self.cancelled_at_);
}

void asio_operation_base::inspect(const wait_operation& w, wait_target& target) {
  const auto& self = static_cast<const asio_operation_base&>(w);
  if (self.state_ == state::pending) {
    wait_target found = self.find_stream(target.needs_state);
    if (!found.type.empty()) {
      target = std::move(found);
      target.operation = self.name();
      return;
    }
  }
  target.type = "asio operation";
  target.name = self.name();
}

bool asio_operation_base::is_pinned(const wait_operation& w) noexcept {
  return static_cast<const asio_operation_base&>(w).state_ == state::pending;
}

void* asio_operation_base::make_block(std::size_t size) {
  memory_of_handler_ = allocate_frame(size);
  block_size_ = size;
  place_ = place::in_block;
  return memory_of_handler_;
}

void asio_operation_base::destroy_handler() noexcept {
  if (destroy_) std::exchange(destroy_, nullptr)(handler_);
  if (std::exchange(place_, place::none) == place::in_block) {
    free_frame(memory_of_handler_, block_size_);
  }
}

void asio_operation_base::throw_error(std::error_code ec, std::size_t bytes) const {
  std::string text(name());
  if (const wait_target stream = find_stream(false); !stream.type.empty()) {
    text += " (peer " + stream.name + ")";
  }
  if (abandoned_) text += ": its handler was destroyed without a call";
  if (bytes > 0)
    text += ": ended after " + std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (ec == end_code()) text += end_text();
  if (bytes == 0) throw failure(ec, text);
  throw partial_transfer(ec, text, bytes);
}

}  // namespace LEAT::detail
