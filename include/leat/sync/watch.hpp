#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/asio.hpp"
#include "leat/sync/detail/watch_base.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// A value of which tasks read the latest state and await changes, such as a configuration.
///
///     leat::watch<int> limit(8, "limit");
///     limit.set(16);                                                         // one task
///     auto changes = limit.subscribe();                                      // others
///     apply(changes.get());
///     while (auto next = co_await changes.changed()) apply(*next);
///     co_await limit.wait_until([](int n) { return n >= 16; });
///
/// A reader sees the latest value, not every value: changes that happen while it works are one
/// change to it, and none is missed. To receive every value, use broadcast.
///
/// After close(), the value can still be read, and set() and modify() return false.
///
/// T must be copyable, and swapping two values must not throw. Readers copy the value under the
/// lock of the watch, so the copy constructor of T must not use the watch. For a large T, use
/// std::shared_ptr<const T>.
///
/// Lifetime: the watch must outlive its operations, until their tasks have resumed.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler, never inside the call
/// that changed the value.
/// Cost: a change takes O(1) for each waiting operation, all others O(1). No allocation besides
/// those of T; wait_until() is a task.
template <std::copyable T>
class watch final : public detail::watch_base {
  static_assert(std::is_nothrow_swappable_v<T>,
                "watch: swapping two values of T must not throw; store a std::shared_ptr<const T>");

 public:
  using value_type = T;
  /// A value and its version, which increases by 1 with each change.
  struct state {
    T value;                    ///< the value
    std::uint64_t version = 0;  ///< of the value
  };

  /// Creates a watch with its first value, which has version 0. `name` appears in messages and
  /// dumps.
  explicit watch(T initial = T(), std::string name = {})
      : watch_base(std::move(name)), value_(std::move(initial)) {}
  ~watch() override { this->unregister(); }

  /// Replaces the value and wakes all operations that wait. Returns false, without effect, if the
  /// watch is closed.
  bool set(T value) noexcept {
    work_list woken;
    {
      const lock_type lock(mutex_);
      if (closed_) return false;
      replace(value);
      woken = count_change();
    }
    wake_all(woken);
    return true;
  }

  /// Calls `change` with a copy of the value and sets the result. If another thread sets a value
  /// meanwhile, it calls `change` again with the new one, so no change is lost. Returns false,
  /// without effect, if the watch is closed.
  ///
  /// Errors: the exceptions of `change` and of the copy, without effect.
  template <std::invocable<T&> Change>
  bool modify(Change change) {
    for (;;) {
      state next = current();
      std::invoke(change, next.value);
      work_list woken;
      {
        const lock_type lock(mutex_);
        if (closed_) return false;
        if (version_ != next.version) continue;
        replace(next.value);
        woken = count_change();
      }
      wake_all(woken);
      return true;
    }
  }

  /// Returns a copy of the value. Errors: the exceptions of the copy.
  [[nodiscard]] T get() const {
    const lock_type lock(mutex_);
    return value_;
  }
  /// Returns a copy of the value with its version. Errors: the exceptions of the copy.
  [[nodiscard]] state current() const {
    const lock_type lock(mutex_);
    return {value_, version_};
  }

  class receiver;
  /// Returns a reader that has seen the present value. It must not outlive the watch.
  [[nodiscard]] receiver subscribe() noexcept {
    const lock_type lock(mutex_);
    return receiver(*this, version_);
  }

  /// Waits until the version differs from `seen`, which a state contains. A receiver remembers the
  /// version itself.
  ///
  /// Returns the latest value, or an empty optional if the watch is closed and has no newer value.
  ///
  /// Errors:       cancelled; the exceptions of the copy. The next call then returns the value.
  /// Cancellation: total.
  [[nodiscard]] awaits<std::optional<state>> auto changed(
      std::uint64_t seen, std::source_location where = std::source_location::current()) {
    return await_operation<change_operation>(where, this, seen);
  }

  /// Returns the latest value without waiting, or an empty optional if its version is `seen`.
  [[nodiscard]] std::optional<state> try_changed(std::uint64_t seen) const {
    const lock_type lock(mutex_);
    if (version_ == seen) return std::nullopt;
    return state{value_, version_};
  }

  /// Waits like changed(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(asio_error_code, std::optional<state>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<state>)> Token>
  auto async_changed(std::uint64_t seen, Token&& token,
                     std::source_location where = std::source_location::current()) {
    return initiate<change_operation>(where, std::forward<Token>(token), this, seen);
  }

  /// Waits until `predicate` returns true for the value.
  ///
  /// Returns the value for which it returned true, or an empty optional if the watch is closed
  /// before. The predicate runs in the waiting task, once at the beginning and once after each
  /// change. If values change faster than the task runs, it sees the latest.
  ///
  /// Errors:       cancelled; the exceptions of the predicate and of the copy.
  /// Cancellation: total.
  template <std::predicate<const T&> Predicate>
  [[nodiscard]] task<std::optional<T>> wait_until(
      Predicate predicate, std::source_location where = std::source_location::current()) {
    state seen = current();
    while (!std::invoke(predicate, std::as_const(seen.value))) {
      std::optional<state> next = co_await changed(seen.version, where);
      if (!next) co_return std::nullopt;
      seen = std::move(*next);
    }
    co_return std::move(seen.value);
  }

 private:
  struct change_operation : synchronizer_operation<watch> {
    static constexpr const wait_operation::kind& wait_kind = watch_base::change_kind;

    [[nodiscard]] std::size_t request() const noexcept { return seen; }
    [[nodiscard]] bool try_complete(caller) const noexcept {
      watch& w = *this->object;
      const lock_type lock(w.mutex_);
      if (w.version_ == seen) return false;
      w.expect_read();
      return true;
    }
    [[nodiscard]] std::optional<state> result(wait_outcome o) const {
      if (o != wait_outcome::done) return std::nullopt;
      watch& w = *this->object;
      const lock_type lock(w.mutex_);
      w.finish_read();
      return state{w.value_, w.version_};
    }
    void undo(waiter&) const noexcept {
      watch& w = *this->object;
      const lock_type lock(w.mutex_);
      w.finish_read();
    }

    std::uint64_t seen;
  };

  // The change that a receiver waits for.
  struct receive_operation : change_operation {
    explicit receive_operation(receiver* r) noexcept
        : change_operation{{r->watch_}, r->seen_}, by(r) {}
    [[nodiscard]] std::optional<T> result(wait_outcome o) const {
      return by->see(change_operation::result(o));
    }

    receiver* by;
  };

  void replace(T& value) noexcept LEAT_REQUIRES(mutex_) {
    using std::swap;
    swap(value_, value);  // the caller destroys the old value after it has unlocked
  }

  T value_ LEAT_GUARDED_BY(mutex_);
};

/// A reader of a watch that remembers which value it has seen. It can be copied; the copy has seen
/// the same value.
///
/// Thread safety: thread-compatible. Of one receiver, one operation at a time may wait.
template <std::copyable T>
class watch<T>::receiver {
 public:
  /// Waits until the value differs from the last one that this receiver has seen.
  ///
  /// Returns the latest value, or an empty optional if the watch is closed and has no newer value.
  ///
  /// Errors:       cancelled; the exceptions of the copy. The next call then returns the value.
  /// Cancellation: total: the change stays unseen.
  [[nodiscard]] awaits<std::optional<T>> auto changed(
      std::source_location where = std::source_location::current()) {
    return await_operation<receive_operation>(where, this);
  }

  /// Returns the latest value without waiting, or an empty optional if it has not changed.
  [[nodiscard]] std::optional<T> try_changed() { return see(watch_->try_changed(seen_)); }

  /// Waits like changed(), with an Asio completion token; see semaphore::async_acquire(). The
  /// receiver must not be destroyed before the handler is called.
  ///
  /// Completion:   void(asio_error_code, std::optional<T>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<T>)> Token>
  auto async_changed(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<receive_operation>(where, std::forward<Token>(token), this);
  }

  /// Returns a copy of the latest value, which counts as seen. Errors: the exceptions of the copy.
  [[nodiscard]] T get() {
    state now = watch_->current();
    seen_ = now.version;
    return std::move(now.value);
  }

 private:
  friend class watch;
  receiver(watch& w, std::uint64_t seen) noexcept : watch_(&w), seen_(seen) {}

  // Returns the value of a state, which counts as seen from now on.
  std::optional<T> see(std::optional<state> next) {
    if (!next) return std::nullopt;
    seen_ = next->version;
    return std::move(next->value);
  }

  watch* watch_;
  std::uint64_t seen_;
};

}  // namespace LEAT
