#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <source_location>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/loop/detail/asio_operation_base.hpp"
#include "leat/async/loop/detail/asio_operation_name.hpp"
#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

// The result of an operation: nothing, a value, or a tuple of several.
template <class... T>
struct asio_value {
  using type = std::tuple<T...>;
};
template <class T>
struct asio_value<T> {
  using type = T;
};
template <>
struct asio_value<> {
  using type = void;
};

// A std::error_code is an error with Boost.Asio too, unlike for the tokens of Boost.
template <class T>
concept error_code_type = std::same_as<T, std::error_code> || std::same_as<T, asio_error_code>;

/// The meaning of a completion signature: its first parameter decides how the operation fails.
template <class Signature>
struct asio_signature;
template <class R, class... T>
struct asio_signature<R(T...)> {
  using value_type = typename asio_value<std::decay_t<T>...>::type;
  static constexpr bool throws = false;
};
template <class R, error_code_type E, class... T>
struct asio_signature<R(E, T...)> : asio_signature<R(T...)> {};
template <class R, class... T>
struct asio_signature<R(std::exception_ptr, T...)> : asio_signature<R(T...)> {
  static constexpr bool throws = true;
};

template <class Value>
struct asio_result {
  std::optional<Value> value;
  template <class... T>
  void set(T&&... t) {
    value.emplace(std::forward<T>(t)...);
  }
};
template <>
struct asio_result<void> {
  void set() const noexcept {}
};

struct no_exception {};

/// Calls `complete()` of a handler with the types of its signature. The handler is not a template,
/// so that an operation may pass arguments that have to be converted.
template <class Handler, class Signature>
struct completion_call;
template <class Handler, class R, class... T>
struct completion_call<Handler, R(T...)> {
  void operator()(T... t) noexcept { static_cast<Handler&>(*this).complete(std::forward<T>(t)...); }
};

/// The awaitable that an Asio operation returns for use_task. Movable until it is awaited.
template <class Signature, class Initiation, class... Arguments>
class [[nodiscard]] asio_operation final
    : public asio_operation_base,
      public irrevocable_forms<asio_operation<Signature, Initiation, Arguments...>> {
 public:
  using value_type = typename asio_signature<Signature>::value_type;

  template <class I, class... A>
    requires(!std::same_as<std::remove_cvref_t<I>, asio_operation>)
  explicit asio_operation(I&& initiation, A&&... arguments)
      : asio_operation_base(the_kind),
        initiation_(std::forward<I>(initiation)),
        arguments_(std::forward<A>(arguments)...) {}
  asio_operation(asio_operation&& unstarted)
      : asio_operation_base(the_kind),
        initiation_(std::move(unstarted.initiation_)),
        arguments_(std::move(unstarted.arguments_)) {
    LEAT_ASSERT(unstarted.state_ == state::fresh,
                "Asio operation moved after it was awaited: create a new one for each co_await");
  }

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Called by leat::task before anything else.
  void bind(promise_base& promise, std::coroutine_handle<> h,
            const std::source_location& where) noexcept {
    wait_operation::bind(promise, h);
    set_where(where);
  }

  /// Initiates the operation. Returns true if it is over.
  bool start() {
    state_ = state::initiating;
    try {
// Boost.Beast passes 0 as a std::size_t.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
      std::apply([this](auto&&... a) { std::move(initiation_)(handler(*this), std::move(a)...); },
                 std::move(arguments_));
#pragma GCC diagnostic pop
    } catch (...) {
      initiation_failed();
      throw;
    }
    return is_over_after_initiation();
  }

  /// Returns true if it succeeded, failed with an error of its own, or moved bytes.
  [[nodiscard]] bool had_effect() const noexcept {
    if (abandoned_) return false;
    if constexpr (throws) {
      if (exception_) return !is_cancellation_exception();
    }
    return !was_cancelled() || bytes() > 0;
  }

  value_type await_resume() {
    take_cancellation_exception();
    if constexpr (throws) {
      if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
    }
    if (error_) throw_error(code(), bytes());
    if constexpr (!std::is_void_v<value_type>) return std::move(*result_.value);
  }

  operation_result<value_type> await_tuple() noexcept {
    take_cancellation_exception();
    std::error_code error = code();
    if constexpr (throws) {
      if (exception_) error = to_error_code(std::exchange(exception_, nullptr));
    }
    if constexpr (std::is_void_v<value_type>) {
      return {to_asio_error(error)};
    } else {
      static_assert(std::default_initializable<value_type>,
                    "as_tuple() needs a default-constructible result of the Asio operation");
      if (!result_.value) return failed_with<operation_result<value_type>>(error);
      return {to_asio_error(error), std::move(*result_.value)};
    }
  }

 private:
  friend irrevocable_forms<asio_operation>;
  static constexpr bool throws = asio_signature<Signature>::throws;

  // The completion handler. It owns the completion: if it is destroyed without being called, the
  // wait ends as cancelled.
  class handler : public completion_call<handler, Signature> {
   public:
    using executor_type = scheduler_executor;
    using allocator_type = standard_frame_allocator<>;
    using cancellation_slot_type = slot;

    explicit handler(asio_operation& o) noexcept : operation_(&o), scheduler_(o.scheduler_) {}
    handler(handler&& other) noexcept
        : operation_(std::exchange(other.operation_, nullptr)), scheduler_(other.scheduler_) {}
    handler& operator=(handler&&) = delete;
    ~handler() {
      if (operation_) [[unlikely]]
        operation_->abandoned();
    }

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_type(*scheduler_); }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return {}; }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
      return slot(operation_);
    }
    [[nodiscard]] asio_operation_base* get_wait() const noexcept { return operation_; }

    template <class... T>
    void complete(T&&... t) noexcept {
      asio_operation* const o = std::exchange(operation_, nullptr);
      LEAT_ASSERT(o != nullptr, "the handler of an Asio operation was called twice: call it once");
      o->set(std::forward<T>(t)...);
      o->completed();
    }

   private:
    asio_operation* operation_;
    scheduler* scheduler_;
  };

  template <class First, class... T>
    requires error_code_type<std::decay_t<First>>
  void set(First&& ec, T&&... t) {
    error_ = ec;
    result_.set(std::forward<T>(t)...);
  }
  template <class First, class... T>
    requires(std::same_as<std::decay_t<First>, std::exception_ptr>)
  void set(First&& e, T&&... t) {
    exception_ = std::forward<First>(e);
    result_.set(std::forward<T>(t)...);
  }
  template <class... T>
  void set(T&&... t) {
    result_.set(std::forward<T>(t)...);
  }

  // A coroutine that was cancelled here reports that by an exception.
  void take_cancellation_exception() noexcept {
    if constexpr (throws) {
      if (!exception_ || !is_cancellation_exception()) return;
      error_ = to_error_code(std::exchange(exception_, nullptr));
    }
  }
  [[nodiscard]] bool is_cancellation_exception() const noexcept {
    return cancel_requested_ && to_error_code(exception_) == errc::cancelled;
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    if constexpr (std::is_same_v<value_type, std::size_t>) return result_.value.value_or(0);
    return 0;
  }

  static constexpr named_kind the_kind = make_kind(asio_operation_name<Initiation, Arguments...>);

  [[no_unique_address]] Initiation initiation_;
  [[no_unique_address]] std::tuple<Arguments...> arguments_;
  [[no_unique_address]] asio_result<value_type> result_;
  [[no_unique_address]] std::conditional_t<throws, std::exception_ptr, no_exception> exception_;
};

}  // namespace LEAT::detail
