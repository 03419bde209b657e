#pragma once

#include <cstddef>
#include <source_location>
#include <system_error>
#include <utility>

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/error.hpp>

#include "leat/async/loop/detail/asio_operation_ptr.hpp"
#include "leat/async/loop/detail/pending_operations.hpp"
#include "leat/async/loop/detail/work_guard.hpp"
#include "leat/sync/detail/sync_awaiter.hpp"

namespace leat::detail {

/// An operation on a primitive with an Asio completion handler instead of a coroutine.
///
/// Exists until it has been delivered on the handler's executor. It is destroyed only there, so a
/// cancellation emitted there always finds it intact. If the executor's context is destroyed first,
/// the operation is withdrawn, or undone if it has completed, and the handler is destroyed.
template <class Operation, class Handler>
class async_sync_operation final : private sync_waiter, private pending_operation {
  using object_type = typename Operation::object_type;

 public:
  using handler_type = Handler;

  static void start(object_type& object, Handler handler, const std::source_location& where,
                    Operation operation) {
    // The list comes first, because its allocation may fail: destroying a constructed operation
    // releases its work, and an io_context without other work stops.
    pending_operations* list = nullptr;
    if (auto* const context = find_context(asio::get_associated_executor(handler))) {
      list = &asio::use_service<pending_operations>(*context);
    }
    const auto allocator = asio::get_associated_allocator(handler);
    ptr self = ptr::make(allocator, object, std::move(handler), where, std::move(operation));
    if (list && !list->add(*self.operator->())) return;
    self->listen();
    self.release()->begin();
  }

  async_sync_operation(object_type& object, Handler&& handler, const std::source_location& where,
                       Operation&& operation)
      : sync_waiter(object, Operation::wait_kind, operation.request(), where),
        handler_(std::move(handler)),
        work_(asio::get_associated_executor(handler_)),
        operation_(std::move(operation)) {
    this->run_ = [](work_item& item) noexcept {
      static_cast<async_sync_operation&>(static_cast<sync_waiter&>(item)).deliver();
    };
  }
  async_sync_operation(const async_sync_operation&) = delete;
  async_sync_operation& operator=(const async_sync_operation&) = delete;

  // Destroyed without a call of the handler, or after finish().
  ~async_sync_operation() {
    if (this->list_) this->list_->remove(*this);
    undo();
  }

 private:
  using ptr = asio_operation_ptr<async_sync_operation>;
  friend ptr;

  // The vptr sanitizer would read the object, but an event may be gone when its handler is called.
  [[nodiscard]] __attribute__((no_sanitize("vptr"))) object_type& object() const noexcept {
    return static_cast<object_type&>(this->object_);
  }
  [[nodiscard]] sync_base& base() const noexcept { return this->object_; }

  bool withdraw() noexcept override { return sync_base::abandon(*this); }

  // Also after the wait was cancelled: then there is nothing to undo.
  void undo() noexcept override {
    if (this->outcome_ != sync_outcome::done) return;
    this->outcome_ = sync_outcome::cancelled;
    operation_.undo(object());
  }

  void destroy() noexcept override { ptr(*this).reset(); }

  void begin() noexcept {
    this->request_ = operation_.request();
    if (operation_.try_complete(object(), {nullptr, this->where()})) {
      this->outcome_ = sync_outcome::done;
    } else if (!base().begin(*this)) {
      return;
    }
    deliver();
  }

  void listen() {
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (!cancellation.is_connected()) return;
    cancellation.assign([this](asio::cancellation_type type) {
      if (type == asio::cancellation_type::none) return;
      // A completed operation is undone too if its handler has not been called. So a composed
      // operation that drops the losing result, such as `||` of awaitables, loses no permit. A send
      // stays completed, because the receivers may have its value.
      if (!sync_base::cancel(*this) && Operation::undoable) undo();
    });
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
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (cancellation.is_connected()) cancellation.clear();
    // Before the result: the handler may own the object to which a guard in the result refers.
    Handler handler(std::move(handler_));
    auto result = detail::finish(operation_, object(), this->outcome_, this->error());
    // The code that Asio programs test for; equal to errc::cancelled.
    if (this->outcome_ == sync_outcome::cancelled) {
      std::get<0>(result) = asio::error::operation_aborted;
    }
    this->outcome_ = sync_outcome::cancelled;  // the result is used: there is nothing to undo
    [[maybe_unused]] const auto work = std::move(work_);
    memory.reset();
    std::apply([&](auto&&... values) { std::move(handler)(std::move(values)...); },
               std::move(result));
  }

  Handler handler_;
  post_memory post_memory_;
  work_guard<asio::associated_executor_t<Handler>> work_;
  Operation operation_;  // destroyed before the handler, which may own what it refers to
};

}  // namespace leat::detail
