#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/loop/detail/kept_cancellation.hpp"
#include "leat/async/operation/irrevocable.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/frame_allocator.hpp"

#include LEAT_ASIO(cancellation_signal.hpp)
#include LEAT_ASIO(cancellation_type.hpp)

namespace LEAT::detail {

/// The part of an awaited Asio operation that does not depend on its type.
///
/// States: `fresh` until it is awaited; `initiating` inside the initiating function; `pending`
/// until Asio has called or destroyed the handler; then `over`. All transitions happen on the
/// scheduler of the waiting coroutine, because it is the executor of the handler; a handler that is
/// called elsewhere goes there first. So nothing here is atomic.
class asio_operation_base : public irrevocable_wait {
 public:
  class slot;

  [[nodiscard]] bool is_fresh() const noexcept { return state_ == state::fresh; }
  [[nodiscard]] bool is_over() const noexcept { return state_ == state::over; }
  [[nodiscard]] bool uses_memory() const noexcept { return !is_fresh() && !is_over(); }
  /// A stop or a limit came first.
  void end_unstarted(std::error_code ec) noexcept {
    error_ = ec;
    state_ = state::over;
  }
  /// Requests the cancellation of a pending operation.
  void request_end() noexcept;

  /// Records the number of the stream that performs it, or a part of it. For dumps and messages.
  void set_stream(std::uint64_t number) noexcept { stream_ = number; }
  /// Sets the details of the stream `number`, if it belongs to `s`: see set_stream_inspector().
  using stream_inspector = void (*)(std::uint64_t number, const scheduler& s, wait_target& target);
  /// Sets the function for dumps of operations with a stream.
  static void set_stream_inspector(stream_inspector f) noexcept;

 protected:
  /// The kind of an operation, with the name of its initiating function.
  struct named_kind : kind {
    std::string_view name;
  };
  enum class state : unsigned char { fresh, initiating, pending, over };

  [[gnu::always_inline]] explicit asio_operation_base(const named_kind& k) noexcept
      : irrevocable_wait(k, std::source_location()) {}
  [[gnu::always_inline]] ~asio_operation_base() {
    if (state_ != state::over) [[unlikely]] {
      LEAT_ASSERT(state_ == state::fresh,
                  "coroutine destroyed while an Asio operation uses its frame: cancel the "
                  "operation and let it end first");
      return;
    }
    if (is_dying()) [[unlikely]]
      withdraw_wakeup();
    clear_slot();
  }

  static constexpr named_kind make_kind(std::string_view name) noexcept {
    return {{"await", &cancel, &describe, &inspect, &is_pinned}, name};
  }
  [[nodiscard]] std::string_view name() const noexcept {
    return static_cast<const named_kind&>(what()).name;
  }

  /// Called when the initiating function has returned. Returns true if the operation is over.
  [[nodiscard]] bool is_over_after_initiation() noexcept {
    if (state_ == state::over) return true;
    state_ = state::pending;
    return false;
  }
  /// Called in a catch clause when the initiating function has thrown an exception.
  void initiation_failed() noexcept;
  /// Called by the handler, after it has stored the result.
  void completed() noexcept {
    // Another thread must not read the state.
    if (scheduler::current() == scheduler_ && state_ == state::pending && !is_selected())
        [[likely]] {
      state_ = state::over;
      set_wakeup();
      scheduler_->post(*this);
    } else {
      completed_elsewhere();
    }
  }
  /// Called by the destructor of a handler that was not called.
  [[gnu::cold]] void abandoned() noexcept;

  /// The error of the operation, or of the limit that has ended it.
  [[nodiscard]] std::error_code code() const noexcept {
    return error_ && was_cancelled() ? end_code() : error_;
  }
  /// True if the error of the operation is that it was cancelled here.
  [[nodiscard]] bool was_cancelled() const noexcept {
    return cancel_requested_ && error_ == errc::cancelled;
  }
  [[noreturn, gnu::cold]] void throw_error(std::error_code ec, std::size_t bytes) const;

  state state_ = state::fresh;
  bool cancel_requested_ = false;
  bool abandoned_ = false;
  std::error_code error_;

 private:
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& target);
  static bool is_pinned(const wait_operation& w) noexcept;

  void completed_elsewhere() noexcept;
  void completed_here() noexcept;
  [[nodiscard]] wait_target find_stream(bool needs_state) const;

  // Where the handler in the cancellation slot is.
  enum class place : unsigned char { none, in_wait, in_block, kept };
  void clear_slot() noexcept {
    call_ = nullptr;
    if (place_ == place::none) return;
    if (place_ == place::kept) {
      place_ = place::none;
      keep_cancellation(*static_cast<kept_cancellation*>(memory_of_handler_));
    } else {
      destroy_handler();
    }
  }
  [[gnu::cold]] void destroy_handler() noexcept;
  [[nodiscard]] void* make_block(std::size_t size);

  // Clears the slot when Asio's slot, to which it was converted, is cleared.
  struct slot_clearer {
    explicit slot_clearer(asio_operation_base* o) noexcept : operation(o) {}
    slot_clearer(const slot_clearer&) = delete;
    slot_clearer& operator=(const slot_clearer&) = delete;
    ~slot_clearer() { operation->clear_slot(); }
    void operator()(asio::cancellation_type_t) const noexcept {}
    asio_operation_base* operation;
  };

  void (*call_)(void* handler, asio::cancellation_type_t) = nullptr;
  void* handler_ = nullptr;
  void* memory_of_handler_ = nullptr;             // a block, or a kept_cancellation
  void (*destroy_)(void* handler) noexcept = {};  // a handler in the wait or in a block
  std::size_t block_size_ = 0;
  std::uint64_t stream_ = 0;             // 0: none
  time_point cancelled_at_;              // if cancel_requested_
  asio::cancellation_signal converted_;  // of a slot of Asio
  place place_ = place::none;
  alignas(std::max_align_t) std::byte memory_[48];
};

/// True for the handler with which a composed operation of Asio passes a cancellation on.
template <class Handler>
consteval bool is_of_composed_operation() {
  return std::string_view(__PRETTY_FUNCTION__).find("asio::cancellation_state::impl<") !=
         std::string_view::npos;
}

/// The cancellation slot of the handler. The handler that Asio puts into it is stored in the wait,
/// or is a kept_cancellation.
class asio_operation_base::slot {
 public:
  explicit slot(asio_operation_base* o) noexcept : operation_(o) {}

  template <class Handler, class... Arguments>
  Handler& emplace(Arguments&&... arguments) {
    static_assert(alignof(Handler) <= alignof(std::max_align_t));
    operation_->clear_slot();
    constexpr auto destroy = [](void* p) noexcept { std::destroy_at(static_cast<Handler*>(p)); };
    Handler* h = nullptr;
    if constexpr (is_of_composed_operation<Handler>()) {
      kept_cancellation& kept = take_kept_cancellation(sizeof(Handler));
      operation_->memory_of_handler_ = &kept;
      operation_->place_ = place::kept;
      h = ::new (kept.get()) Handler(std::forward<Arguments>(arguments)...);
      kept.destroy = destroy;
    } else {
      constexpr bool is_small = sizeof(Handler) <= sizeof(memory_);
      void* const memory = is_small ? operation_->memory_ : operation_->make_block(sizeof(Handler));
      h = ::new (memory) Handler(std::forward<Arguments>(arguments)...);
      if constexpr (!std::is_trivially_destructible_v<Handler>) operation_->destroy_ = destroy;
      if constexpr (is_small && !std::is_trivially_destructible_v<Handler>) {
        operation_->place_ = place::in_wait;
      }
    }
    operation_->handler_ = h;
    operation_->call_ = [](void* p, asio::cancellation_type_t type) {
      (*static_cast<Handler*>(p))(type);
    };
    return *h;
  }
  template <class Handler>
  std::decay_t<Handler>& assign(Handler&& h) {
    return emplace<std::decay_t<Handler>>(std::forward<Handler>(h));
  }
  void clear() noexcept { operation_->clear_slot(); }

  /// Returns a slot whose clear() clears this one. For the WebSocket of Boost.Beast, which requires
  /// that the slot of a handler has this type.
  operator asio::cancellation_slot() const {  // NOLINT: converts
    if (!operation_) return {};
    asio::cancellation_slot converted = operation_->converted_.slot();
    converted.emplace<slot_clearer>(operation_);
    return converted;
  }

  [[nodiscard]] bool is_connected() const noexcept { return operation_ != nullptr; }
  [[nodiscard]] bool has_handler() const noexcept { return operation_ && operation_->call_; }
  friend bool operator==(const slot& a, const slot& b) noexcept {
    return a.operation_ == b.operation_;
  }
  friend bool operator!=(const slot& a, const slot& b) noexcept { return !(a == b); }

 private:
  asio_operation_base* operation_;
};

}  // namespace LEAT::detail
