#pragma once

#include <memory>
#include <utility>

#include <asio/associated_allocator.hpp>
#include <asio/post.hpp>
#include <asio/ts/netfwd.hpp>  // declares any_io_executor

#include "leat/async/loop/detail/post_memory.hpp"
#include "leat/async/loop/detail/posted_completion.hpp"

namespace leat::detail {

/// Owns an operation with an Asio completion handler, in memory of the handler's allocator.
///
/// Posted to the handler's executor it calls the operation's finish(), which delivers the result.
/// An execution context that is destroyed first destroys the operation with it.
///
/// For the post there is memory in the operation. An executor that allocates all the same, such as
/// a strand of an asio::any_io_executor, could tell nobody that there is no memory but the one who
/// completes the operation: a stranger. So it ends the process then.
///
/// Operation: has a type `handler_type`, members `handler_` and `post_memory_`, and
/// finish(asio_operation_ptr&), which may reset() the pointer to give the memory back before it
/// calls the handler.
template <class Operation>
class asio_operation_ptr {
 public:
  using handler_allocator = asio::associated_allocator_t<typename Operation::handler_type>;
  using allocator_type = post_allocator<Operation, handler_allocator>;

  /// Takes over an operation that was released.
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

  /// Makes an operation. Errors: what the allocator and the constructor throw.
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

  /// For its post.
  [[nodiscard]] allocator_type get_allocator() const noexcept {
    return {operation_->post_memory_, allocator_};
  }
  /// Hands it to the executor.
  template <class Executor>
  void post_to(const Executor& executor) && noexcept {
    asio::post(executor, std::move(*this));
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

}  // namespace leat::detail
