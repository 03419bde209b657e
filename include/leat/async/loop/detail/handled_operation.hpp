#pragma once

#include <exception>
#include <source_location>
#include <system_error>
#include <tuple>
#include <utility>

#include "leat/async/loop/detail/asio_operation_ptr.hpp"
#include "leat/async/loop/detail/pending_operations.hpp"
#include "leat/async/loop/detail/work_guard.hpp"
#include "leat/async/operation/detail/operation_awaiter.hpp"
#include "leat/async/operation/initiate.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(associated_allocator.hpp)
#include LEAT_ASIO(associated_cancellation_slot.hpp)
#include LEAT_ASIO(associated_executor.hpp)
#include LEAT_ASIO(error.hpp)

namespace LEAT::detail {

/// An operation with an Asio completion handler instead of a coroutine.
///
/// Exists until it has been delivered on the handler's executor. It is destroyed only there, so a
/// cancellation emitted there always finds it intact. If the executor's context is destroyed first,
/// the operation is withdrawn, or undone if it has completed, and the handler is destroyed.
template <operation Operation, class Handler>
class handled_operation final : private pending_operation {
 public:
  using handler_type = Handler;

  template <class... Arguments>
  static void start(Handler handler, const std::source_location& where, Arguments&&... arguments) {
    // The list comes first, because its allocation may fail: destroying a constructed operation
    // releases its work, and an io_context without other work stops.
    pending_operations* list = nullptr;
    if (auto* const context = find_context(asio::get_associated_executor(handler))) {
      list = &asio::use_service<pending_operations>(*context);
    }
    const auto allocator = asio::get_associated_allocator(handler);
    ptr self =
        ptr::make(allocator, std::move(handler), where, std::forward<Arguments>(arguments)...);
    if (list && !list->add(*self.operator->())) return;
    self->listen();
    self.release()->begin();
  }

  template <class... Arguments>
  handled_operation(Handler&& handler, const std::source_location& where, Arguments&&... arguments)
      : handler_(std::move(handler)),
        work_(asio::get_associated_executor(handler_)),
        operation_{std::forward<Arguments>(arguments)...},
        waiter_(operation_, where) {
    waiter_.continue_handler(*this);
  }
  handled_operation(const handled_operation&) = delete;
  handled_operation& operator=(const handled_operation&) = delete;

  // Destroyed without a call of the handler, or after finish().
  ~handled_operation() {
    if (this->list_) this->list_->remove(*this);
    undo();
  }

 private:
  using ptr = asio_operation_ptr<handled_operation>;
  friend ptr;
  friend class leat::waiter;

  bool withdraw() noexcept override { return Operation::withdraw(waiter_); }

  // Also after the wait was cancelled: then there is nothing to undo.
  void undo() noexcept override {
    if (waiter_.outcome() != wait_outcome::done) return;
    operation_.undo(waiter_);
    waiter_.set_outcome(wait_outcome::cancelled);
  }

  void destroy() noexcept override { ptr(*this).reset(); }

  void begin() {
    try {
      if (!begin_or_complete()) return;
    } catch (...) {  // nothing has happened
      begin_error_ = to_error_code(std::current_exception());
    }
    deliver();
  }

  // Returns false if it waits. An operation that can be cancelled after it has completed is
  // provisional until its handler is called.
  [[nodiscard]] bool begin_or_complete() {
    if constexpr (provisional_operation<Operation>) {
      if (is_cancellable()) return operation_.begin_provisional(waiter_);
    }
    if (!operation_.try_complete(caller{nullptr, waiter_.where()}))
      return Operation::begin(waiter_);
    waiter_.set_done();
    return true;
  }

  [[nodiscard]] bool is_cancellable() const noexcept {
    return asio::get_associated_cancellation_slot(handler_).is_connected();
  }

  void listen() {
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (!cancellation.is_connected()) return;
    cancellation.assign([this](asio::cancellation_type type) {
      if (type == asio::cancellation_type::none) return;
      // A completed operation is undone too if its handler has not been called. So a composed
      // operation that drops the losing result, such as `||` of awaitables, loses nothing. One that
      // cannot be undone stays completed, such as a pop whose queue is gone.
      if (!cancel(type) && can_undo() && !is_empty_operation_of(operation_)) undo();
    });
  }

  [[nodiscard]] bool can_undo() const noexcept {
    if constexpr (requires { Operation::can_undo(waiter_); }) return Operation::can_undo(waiter_);
    return Operation::undoable;
  }

  // A total cancellation must have no side effect, so a partial operation that has done some part
  // continues.
  bool cancel(asio::cancellation_type type) noexcept {
    using asio::cancellation_type;
    if constexpr (partial_operation<Operation>) {
      if ((type & (cancellation_type::terminal | cancellation_type::partial)) ==
          cancellation_type::none) {
        const bool withdrawn = Operation::withdraw_unless_begun(waiter_);
        if (withdrawn) waiter_.wake();
        return withdrawn;
      }
    }
    return cancel_wait<Operation>(waiter_);
  }

  void deliver() noexcept {
    const auto executor = work_.get_executor();  // a copy: the post may destroy this object
    pending_operations* const list = this->list_;
    if (list && !list->begin_post(*this)) return;
    ptr(*this).post_to(executor);
    if (list) list->end_post();
  }

  void finish(ptr& memory) {
    if (this->list_) this->list_->remove(*this);
    if constexpr (provisional_operation<Operation>) Operation::commit(waiter_);
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (cancellation.is_connected()) cancellation.clear();
    // Before the result: the handler may own the object to which the result refers.
    Handler handler(std::move(handler_));
    auto result = tuple_after_wait(operation_, waiter_, begin_error_);
    // The code that Asio programs test for; equal to errc::cancelled.
    if (waiter_.outcome() == wait_outcome::cancelled) {
      result.error = asio::error::operation_aborted;
    }
    waiter_.set_outcome(wait_outcome::cancelled);  // the result is used: there is nothing to undo
    [[maybe_unused]] const auto work = std::move(work_);
    memory.reset();
    if constexpr (requires { result.value; }) {
      std::move(handler)(result.error, std::move(result.value));
    } else {
      std::move(handler)(result.error);
    }
  }

  Handler handler_;
  post_memory post_memory_;
  work_guard<asio::associated_executor_t<Handler>> work_;
  std::error_code begin_error_;  // of an operation that could not start
  Operation operation_;          // destroyed before the handler, which may own what it refers to
  typename Operation::waiter waiter_;
};

}  // namespace LEAT::detail
