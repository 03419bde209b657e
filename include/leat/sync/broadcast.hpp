#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/sync/detail/broadcast_base.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// A channel that delivers each value to every receiver.
///
///     leat::broadcast<std::string> room(64, "room");
///     auto receiver = room.subscribe("ann");                 // gets what is sent from now on
///     co_await room.send("hello");
///     while (auto message = co_await receiver.next()) {
///       if (message->missed > 0) warn(message->missed);      // this receiver was too slow
///       show(message->value);
///     }
///
/// The broadcast stores the last `capacity` values. With lag_policy::overwrite, the default, a send
/// never waits: if a receiver falls behind by more, the oldest values are overwritten, and its next
/// value says how many it has missed. With lag_policy::wait, send() waits for the slowest receiver,
/// which a dump names. A value that all receivers have read is destroyed. Without receivers a value
/// is discarded.
///
/// After close(), receivers get the remaining values and then an empty optional. A send that waits
/// at that moment returns false, and its value is destroyed. is_closed(), capacity() and
/// receiver_count() return the state.
///
/// T must be copyable and nothrow move-constructible. The last receiver of a value moves it, the
/// others copy it, under the lock of the broadcast. So the constructors of T must not use the
/// broadcast. For a large T, use std::shared_ptr<const T>.
///
/// Lifetime: the broadcast must outlive its receivers and operations. The destructor ends the
/// process with a message if there are any.
///
/// Thread safety: thread-safe; a receiver is thread-compatible and has one operation at a time. A
/// waiting task resumes on its own scheduler, never inside the call that woke it.
/// Cost: a send takes O(1) and another O(1) for each receiver that waits, a receive O(1). Leaving
/// takes O(number of unread values). Allocates only when it is created.
template <std::copyable T>
class broadcast final : public detail::broadcast_base {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "broadcast: moving T must not throw; send a std::shared_ptr<const T>");
  struct send_operation;
  struct receive_operation;

 public:
  using value_type = T;

  /// A received value.
  struct item {
    T value;                   ///< as it was sent
    std::uint64_t missed = 0;  ///< number of values before it that were overwritten unread
  };

  /// Receives all values that are sent after its creation. Movable while no operation waits.
  class receiver : private detail::broadcast_position {
   public:
    receiver(receiver&& other) noexcept { take(other); }
    receiver& operator=(receiver&& other) noexcept {
      if (this != &other) {
        leave();
        take(other);
      }
      return *this;
    }
    ~receiver() { leave(); }

    /// Waits for the next value.
    ///
    /// Returns the value, or an empty optional once the broadcast is closed and this receiver has
    /// received all values.
    ///
    /// Errors:       cancelled; the exceptions of the copy. The next call then returns the value.
    /// Cancellation: total: the value remains for the next call.
    [[nodiscard]] awaits<std::optional<item>> auto next(
        std::source_location where = std::source_location::current()) {
      return await_operation<receive_operation>(where, checked(), position());
    }

    /// Returns the next value without waiting, or an empty optional if there is none.
    [[nodiscard]] std::optional<item> try_next() {
      receive_operation operation(checked(), position());
      if (!operation.try_complete({})) return std::nullopt;
      return operation.result(wait_outcome::done);
    }

    /// Waits like next(), with an Asio completion token; see semaphore::async_acquire(). The
    /// receiver must not be destroyed before the handler is called.
    ///
    /// Completion:   void(asio_error_code, std::optional<item>)
    template <asio::completion_token_for<void(asio_error_code, std::optional<item>)> Token>
    auto async_next(Token&& token, std::source_location where = std::source_location::current()) {
      return initiate<receive_operation>(where, std::forward<Token>(token),
                                         receive_operation(checked(), position()));
    }

   private:
    friend class broadcast;
    receiver(broadcast& b, std::string name) noexcept {
      name_ = std::move(name);
      b.join(*this);
    }
    [[nodiscard]] detail::broadcast_position& position() noexcept { return *this; }
    [[nodiscard]] broadcast& checked() const noexcept {
      LEAT_ASSERT(owner_, "receiver of a broadcast used after it was moved from");
      return static_cast<broadcast&>(*owner_);
    }
    void take(receiver& other) noexcept {
      if (!other.owner_) return;
      other.checked().replace(other, *this);
      other.owner_ = nullptr;
    }
    void leave() noexcept {
      if (owner_) checked().remove(*this);
      owner_ = nullptr;
    }
  };

  /// Creates a broadcast that stores `capacity` values. `name` appears in messages and dumps.
  ///
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit broadcast(std::size_t capacity, std::string name = {})
      : broadcast(capacity, lag_policy::overwrite, std::move(name)) {}
  /// Overload with a policy for receivers that fall behind.
  broadcast(std::size_t capacity, lag_policy policy, std::string name = {})
      : broadcast_base(capacity, policy, std::move(name)),
        values_(std::make_unique<cell[]>(capacity)) {}
  ~broadcast() override {
    this->unregister();
    clear();
  }

  /// Creates a receiver of all values that are sent from now on. `name` appears in dumps.
  [[nodiscard]] receiver subscribe(std::string name = {}) noexcept {
    return receiver(*this, std::move(name));
  }

  /// Sends a value. Waits only with lag_policy::wait, while the slowest receiver lags by capacity()
  /// values.
  ///
  /// Returns true, or false if the broadcast is closed.
  ///
  /// Errors:       cancelled.
  /// Cancellation: total: a cancelled send sends nothing. select() does not accept it next to an
  ///               operation that cannot be undone.
  [[nodiscard]] awaits<bool> auto send(
      T value, std::source_location where = std::source_location::current()) {
    return await_operation<send_operation>(where, this, std::move(value));
  }

  /// Sends a value without waiting. Returns true, or false if the broadcast is closed or, with
  /// lag_policy::wait, if the slowest receiver lags by capacity() values.
  bool try_send(T value) noexcept {
    return this->try_store(std::addressof(value)) == send_result::sent;
  }

  /// Sends a value like send(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(asio_error_code, bool)
  template <asio::completion_token_for<void(asio_error_code, bool)> Token>
  auto async_send(T value, Token&& token,
                  std::source_location where = std::source_location::current()) {
    return initiate<send_operation>(where, std::forward<Token>(token), this, std::move(value));
  }

 private:
  union cell {
    cell() noexcept {}
    ~cell() {}
    T value;
  };

  struct send_operation : synchronizer_operation<broadcast> {
    static constexpr const wait_operation::kind& wait_kind = broadcast_base::send_kind;
    static constexpr bool undoable = false;

    [[nodiscard]] std::size_t request() noexcept {
      return reinterpret_cast<std::size_t>(std::addressof(value));
    }
    [[nodiscard]] bool try_complete(caller) noexcept {
      return this->object->try_store(std::addressof(value)) == send_result::sent;
    }
    [[nodiscard]] static bool result(wait_outcome o) noexcept { return o == wait_outcome::done; }
    static void undo(waiter&) noexcept {}  // the receivers may have received it

    T value;
  };

  struct receive_operation : synchronizer_operation<broadcast> {
    static constexpr const wait_operation::kind& wait_kind = broadcast_base::receive_kind;

    receive_operation(broadcast& b, detail::broadcast_position& r) noexcept
        : synchronizer_operation<broadcast>(&b), receiver(&r) {}

    [[nodiscard]] std::size_t request() const noexcept {
      return reinterpret_cast<std::size_t>(receiver);
    }
    [[nodiscard]] bool try_complete(caller) noexcept {
      broadcast& b = *this->object;
      in_progress.begin(*receiver);
      const lock_type lock(b.mutex_);
      return b.has_value_for(*receiver);
    }
    [[nodiscard]] std::optional<item> result(wait_outcome o) {
      in_progress.end();
      if (o != wait_outcome::done) return std::nullopt;
      return this->object->read(*receiver);
    }
    void undo(waiter&) noexcept { in_progress.end(); }  // the value stays

    detail::broadcast_position* receiver;
    typename broadcast_base::reading in_progress;
  };

  [[nodiscard]] std::optional<item> read(detail::broadcast_position& r) {
    std::optional<item> received;
    work_item* woken = nullptr;
    {
      const lock_type lock(mutex_);
      const std::size_t slot = slot_for(r);
      const std::uint64_t lost = missed(r);
      T& value = values_[slot].value;
      if (is_last_reader(slot)) {
        received.emplace(item{std::move(value), lost});
      } else {
        received.emplace(item{std::as_const(value), lost});
      }
      woken = advance(r, slot, lost);
    }
    if (woken) wake_from(woken);
    return received;
  }

  // Destroys the values that only this receiver had not read, outside the lock.
  void remove(receiver& r) noexcept {
    leave(r);
    for (bool more = true; more;) {
      std::optional<T> value;
      work_item* woken = nullptr;
      {
        const lock_type lock(mutex_);
        std::size_t slot = 0;
        more = has_read_value(slot);
        if (!more) break;
        value.emplace(std::move(values_[slot].value));
        woken = remove_oldest();
      }
      if (woken) wake_from(woken);
    }
  }

  void swap_with(std::size_t slot, void* value) noexcept override {
    T& stored = values_[slot].value;
    T& sent = *static_cast<T*>(value);
    T overwritten(std::move(stored));
    std::destroy_at(std::addressof(stored));
    std::construct_at(std::addressof(stored), std::move(sent));
    std::destroy_at(std::addressof(sent));
    std::construct_at(std::addressof(sent), std::move(overwritten));
  }
  void move_into(std::size_t slot, void* value) noexcept override {
    std::construct_at(std::addressof(values_[slot].value), std::move(*static_cast<T*>(value)));
  }
  void destroy_value(std::size_t slot) noexcept override {
    std::destroy_at(std::addressof(values_[slot].value));
  }

  const std::unique_ptr<cell[]> values_;
};

}  // namespace LEAT
