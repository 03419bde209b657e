#pragma once

#include <cstddef>
#include <exception>
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
#include "leat/base/error.hpp"
#include "leat/queue/detail/queue_operations.hpp"

namespace leat::detail {

/// A queue operation with an Asio completion handler instead of a coroutine.
///
/// Exists until it has been delivered on the handler's executor. It is destroyed only there, so a
/// cancellation emitted there always finds it intact. If the executor's context is destroyed first,
/// the operation is withdrawn, or a pop that has ended is undone, and the handler is destroyed.
template <class Queue, class Operation, class Handler>
class async_queue_operation final : private Operation,
                                    private queue_waiter,
                                    private pending_operation {
 public:
  using handler_type = Handler;

  template <class... Arguments>
  static void start(Queue& q, Handler handler, const std::source_location& where,
                    Arguments&&... arguments) {
    // The list comes first, because its allocation may fail: destroying a constructed operation
    // releases its work, and an io_context without other work stops.
    pending_operations* list = nullptr;
    if (auto* const context = find_context(asio::get_associated_executor(handler))) {
      list = &asio::use_service<pending_operations>(*context);
    }
    const auto allocator = asio::get_associated_allocator(handler);
    ptr self =
        ptr::make(allocator, q, std::move(handler), where, std::forward<Arguments>(arguments)...);
    if (list && !self->join(*list)) return;
    self->must_undo_ = true;
    self->listen();
    self.release()->begin(q);
  }

  template <class... Arguments>
  async_queue_operation(Queue& q, Handler&& handler, const std::source_location& where,
                        Arguments&&... arguments)
      : Operation{std::forward<Arguments>(arguments)...},
        queue_waiter(q, Operation::the_role, Operation::items(), Operation::count(), where),
        handler_(std::move(handler)),
        work_(asio::get_associated_executor(handler_)) {
    this->run_ = [](work_item& item) noexcept {
      static_cast<async_queue_operation&>(static_cast<queue_waiter&>(item)).deliver();
    };
  }
  async_queue_operation(const async_queue_operation&) = delete;
  async_queue_operation& operator=(const async_queue_operation&) = delete;

  // Destroyed without a call of the handler, or after finish().
  ~async_queue_operation() {
    if (this->list_) this->list_->remove(*this);
    undo();
  }

 private:
  static constexpr bool is_pop = Operation::the_role >= queue_waiter::role::pop;
  using ptr = asio_operation_ptr<async_queue_operation>;
  friend ptr;

  // Returns false if the context of the handler is being destroyed.
  [[nodiscard]] bool join(pending_operations& list) noexcept { return list.add(*this); }

  bool withdraw() noexcept override { return this->queue_.abandon(*this); }

  void undo() noexcept override {
    if (std::exchange(must_undo_, false) && !this->undo_unread()) {
      static_cast<void>(Operation::result(this->outcome_, this->moved_));
    }
  }

  void destroy() noexcept override { ptr(*this).reset(); }

  void begin(Queue& q) {
    try {
      if (!begin_or_complete(q)) return;
    } catch (...) {  // nothing has happened
      begin_error_ = to_error_code(std::current_exception());
    }
    deliver();
  }

  // Returns false if it waits. A pop that can be cancelled after it has completed is provisional
  // until its handler is called.
  [[nodiscard]] bool begin_or_complete(Queue& q) {
    if constexpr (is_pop) {
      if (is_cancellable()) {
        if (!Operation::prepare()) return q.begin_provisional(*this);
        this->set_done();
        return true;
      }
    }
    if (!Operation::try_complete(q)) return q.begin(*this);
    this->set_done();
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
      // A completed pop, which is provisional, is undone too if its handler has not been called. So
      // a composed operation that drops the losing result, such as `||` of awaitables, loses no
      // item.
      if (!cancel(type)) this->queue_.undo(*this);
    });
  }

  // A total cancellation must have no side effect, so a push_many that has added some items
  // continues.
  bool cancel(asio::cancellation_type type) noexcept {
    using asio::cancellation_type;
    if constexpr (!Operation::all_or_nothing) {
      const auto partial_cancellation = cancellation_type::terminal | cancellation_type::partial;
      if ((type & partial_cancellation) == cancellation_type::none) {
        return this->queue_.cancel_unless_begun(*this);
      }
    }
    return this->queue_.cancel(*this);
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
    must_undo_ = false;
    if (this->is_provisional()) this->queue_.commit(*this);
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (cancellation.is_connected()) cancellation.clear();
    auto [ec, result] = detail::finish<Operation>(*this, this->outcome_, this->moved_,
                                                  begin_error_ ? begin_error_ : this->error());
    // The code that Asio programs test for; equal to errc::cancelled.
    if (this->outcome_ == queue_outcome::cancelled) ec = asio::error::operation_aborted;
    Handler handler(std::move(handler_));
    [[maybe_unused]] const auto work = std::move(work_);
    memory.reset();
    std::move(handler)(ec, std::move(result));
  }

  Handler handler_;
  post_memory post_memory_;
  work_guard<asio::associated_executor_t<Handler>> work_;
  std::error_code begin_error_;  // of an operation that could not start
  bool must_undo_ = false;       // if the handler is not called
};

}  // namespace leat::detail
