#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "leat/async/loop/detail/post_memory.hpp"
#include "leat/async/loop/detail/posted_completion.hpp"
#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(associated_allocator.hpp)
#include LEAT_ASIO(post.hpp)
#include LEAT_ASIO(ts/netfwd.hpp)  // declares any_io_executor

namespace LEAT::detail {

/// Owns an operation with an Asio completion handler, in memory of the handler's allocator.
///
/// When the handler's executor runs it, it calls the operation's finish(), which delivers the
/// result. If the execution context is destroyed first, the operation is destroyed with it.
///
/// The operation contains the memory for the post. Some executors still allocate, such as a strand
/// of an asio::any_io_executor. If such an allocation fails, the process ends, because only
/// unrelated code, which completes the operation, could receive the error.
///
/// Operation: has a type `handler_type`, members `handler_` and `post_memory_`, and
/// finish(asio_operation_ptr&), which may reset() the pointer to free the memory before it calls
/// the handler.
template <class Operation>
class asio_operation_ptr {
 public:
  using handler_allocator = asio::associated_allocator_t<typename Operation::handler_type>;
  using allocator_type = post_allocator<Operation, handler_allocator>;

  /// Takes ownership of a released operation.
  explicit asio_operation_ptr(Operation& o) noexcept
      : allocator_(asio::get_associated_allocator(o.handler_)), operation_(&o) {}
  asio_operation_ptr(asio_operation_ptr&& other) noexcept
      : allocator_(other.allocator_), operation_(other.release()) {}
  asio_operation_ptr& operator=(asio_operation_ptr&&) = delete;
  ~asio_operation_ptr() {
    if (operation_ && operation_->post_memory_.end_after_last(operation_, &destroy)) {
      operation_ = nullptr;
    }
    reset();
  }

  /// Creates an operation. Errors: exceptions of the allocator and the constructor.
  template <class... Arguments>
  [[nodiscard]] static asio_operation_ptr make(const handler_allocator& allocator,
                                               Arguments&&... arguments) {
    rebound a(allocator);
    Operation* const o = traits::allocate(a, 1);
    try {
      traits::construct(a, o, std::forward<Arguments>(arguments)...);
    } catch (...) {
      traits::deallocate(a, o, 1);
      throw;
    }
    return asio_operation_ptr(*o);
  }

  /// The allocator for the post.
  [[nodiscard]] allocator_type get_allocator() const noexcept {
    return {operation_->post_memory_, allocator_};
  }
  /// Posts the operation to the executor.
  template <class Executor>
  void post_to(const Executor& executor) && noexcept {
    if constexpr (std::derived_from<Executor, scheduler_executor>) {
      executor.post_completion(std::move(*this));
    } else {
      asio::post(executor, std::move(*this));
    }
  }
  void post_to(const asio::any_io_executor& executor) && noexcept {
    Operation* const o = release();
    posted_completion(o, o->post_memory_, &end).post_to(executor);
  }
  [[nodiscard]] Operation* operator->() const noexcept { return operation_; }
  [[nodiscard]] Operation* release() noexcept { return std::exchange(operation_, nullptr); }

  void reset() noexcept {
    Operation* const o = release();
    if (!o) return;
    rebound a(allocator_);
    traits::destroy(a, o);
    traits::deallocate(a, o, 1);
  }

  void operator()() { operation_->finish(*this); }

 private:
  using rebound =
      typename std::allocator_traits<handler_allocator>::template rebind_alloc<Operation>;
  using traits = std::allocator_traits<rebound>;

  static void destroy(void* operation) noexcept {
    asio_operation_ptr(*static_cast<Operation*>(operation)).reset();
  }
  static void end(void* operation, bool call) {
    asio_operation_ptr self(*static_cast<Operation*>(operation));
    if (call) self();
  }

  handler_allocator allocator_;
  Operation* operation_;
};

}  // namespace LEAT::detail
