#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <mutex>
#include <type_traits>
#include <typeinfo>

#include "leat/base/asio.hpp"

#include LEAT_ASIO(execution/context_as.hpp)
#include LEAT_ASIO(execution_context.hpp)
#include LEAT_ASIO(query.hpp)
#include LEAT_ASIO(system_executor.hpp)
#include LEAT_ASIO(ts/netfwd.hpp)  // declares any_io_executor

namespace LEAT::detail {

class pending_operations;

/// An operation with a completion handler that has not been called. It is listed with the execution
/// context of the handler, which withdraws it when it is destroyed.
///
/// States: `pending` until the operation has ended; then `posted` to the handler's executor, or,
/// if the context is being destroyed, `kept` for the thread that does so.
class pending_operation {
 public:
  pending_operation() = default;
  pending_operation(const pending_operation&) = delete;
  pending_operation& operator=(const pending_operation&) = delete;

  /// Withdraws the operation. Returns false if it has ended and is delivered or about to be.
  virtual bool withdraw() noexcept = 0;
  /// Undoes a completed operation whose handler will not be called.
  virtual void undo() noexcept = 0;
  /// Destroys the operation and its handler.
  virtual void destroy() noexcept = 0;

 protected:
  virtual ~pending_operation() = default;

  pending_operations* list_ = nullptr;  // null: its context is not known, or has been destroyed

 private:
  friend class pending_operations;
  enum state : unsigned char { pending, posted, kept };

  pending_operation* previous_ = nullptr;
  pending_operation* following_ = nullptr;
  std::atomic<state> state_{pending};
};

/// The operations with handlers that run in one execution context: an io_context, a thread_pool.
///
/// When the context is destroyed, all operations are withdrawn first, then the tasks in the context
/// end, and then the handlers are destroyed. A handler may own objects that a task uses, and the
/// frame of a task may contain a queue on which an operation waits.
///
/// Thread safety: thread-safe; as for everything of Asio, nothing may be started in a context that
/// is being destroyed. Operations may end meanwhile, on any thread.
class pending_operations final : public asio::execution_context::service {
 public:
  using key_type = pending_operations;
  static asio::execution_context::id id;

  explicit pending_operations(asio::execution_context& context)
      : asio::execution_context::service(context) {}

  /// Adds an operation to the list. Returns false, without effect, if the context is being
  /// destroyed.
  [[nodiscard]] bool add(pending_operation& o) noexcept;
  /// Removes an operation from the list: its handler is about to be called, or it is destroyed.
  void remove(pending_operation& o) noexcept;

  /// Called before a completed operation is posted. If it returns false, do not post the operation
  /// and do not access it. If it returns true, call end_post() after the post.
  [[nodiscard]] bool begin_post(pending_operation& o) noexcept;
  void end_post() noexcept;

  /// The first step of the end of a context: withdraws all operations.
  void withdraw_all() noexcept;
  /// The last step: destroys them.
  void destroy_all() noexcept;

 private:
  void shutdown() noexcept override;

  std::mutex mutex_;
  pending_operation* first_ = nullptr;  // guarded by mutex_
  std::atomic<bool> ended_{false};
  std::atomic<std::size_t> posting_{0};     // threads between begin_post() and end_post()
  pending_operation* withdrawn_ = nullptr;  // to be destroyed
};

/// The context in which an executor runs handlers; null if it is not known, or is the system's,
/// which ends after everything else.
template <class Executor>
[[nodiscard]] asio::execution_context* find_context(const Executor& executor) noexcept {
  using property = asio::execution::context_as_t<asio::execution_context&>;
  if constexpr (std::is_same_v<Executor, asio::system_executor>) {
    return nullptr;
  } else if constexpr (std::is_same_v<Executor, asio::any_io_executor>) {
    const bool is_system = executor.target_type() == typeid(asio::system_executor);
    return is_system ? nullptr : &asio::query(executor, property());
  } else if constexpr (asio::can_query_v<const Executor&, property>) {
    return &asio::query(executor, property());
  } else if constexpr (requires {
                         {
                           executor.context()
                         } noexcept -> std::convertible_to<asio::execution_context&>;
                       }) {
    return &static_cast<asio::execution_context&>(executor.context());
  } else {
    return nullptr;
  }
}

/// Ends the leat tasks in an execution context that is being destroyed, if it has any. In
/// asio_scheduler.cpp.
void end_tasks_in(asio::execution_context& context) noexcept;

}  // namespace LEAT::detail
