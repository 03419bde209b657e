#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/sync/detail/oneshot_block.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// A channel for one value, such as the reply to a request.
///
///     auto [sender, receiver] = leat::oneshot<int>("reply");
///     request r{.id = 7, .reply = std::move(sender)};
///     co_await requests.push(std::move(r));
///     std::optional<int> reply = co_await receiver.receive();  // empty: no reply will come
///
/// The two ends may be destroyed in any order, on any thread, so neither side can access memory of
/// the other that is gone: a server that answers late finds that the receiver has left.
///
/// T must be nothrow move-constructible.
///
/// Thread safety: the two ends may be used on different threads; each end is thread-compatible. A
/// waiting task resumes on its own scheduler, never inside the call that woke it.
/// Cost: one allocation from the allocator of coroutine frames when it is created; none for its
/// operations.
template <class T>
struct oneshot {
  static_assert(!std::is_void_v<T>, "oneshot<void>: write oneshot<std::monostate>");
  static_assert(!std::is_reference_v<T>, "oneshot<T&>: send a pointer");
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "oneshot: T must be nothrow move-constructible; send a std::unique_ptr<T>");
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "oneshot: T has a larger alignment than its block; send a std::unique_ptr<T>");
  class sender;
  class receiver;

 private:
  using block = detail::oneshot_block<T>;
  struct sender_end {
    void operator()(block* b) const noexcept { b->leave(block::end::sender); }
  };
  struct receiver_end {
    void operator()(block* b) const noexcept { b->leave(block::end::receiver); }
  };

  struct closed_operation : synchronizer_operation<block> {
    static constexpr const wait_operation::kind& wait_kind = detail::oneshot_base::closed_kind;
    [[nodiscard]] static std::size_t request() noexcept { return block::receiver_leaves; }
    [[nodiscard]] bool try_complete(caller) const noexcept {
      return this->object->has_no_receiver();
    }
    static void result(wait_outcome) noexcept {}
    static void undo(waiter&) noexcept {}
  };
  struct receive_operation : synchronizer_operation<block> {
    static constexpr const wait_operation::kind& wait_kind = detail::oneshot_base::receive_kind;
    [[nodiscard]] static std::size_t request() noexcept { return block::value; }
    [[nodiscard]] bool try_complete(caller) const noexcept { return this->object->try_read(); }
    [[nodiscard]] std::optional<T> result(wait_outcome) const noexcept {
      this->object->end_read();
      return this->object->take();
    }
    void undo(waiter&) const noexcept { this->object->end_read(); }  // the value stays
  };

 public:
  /// The end that sends. Movable.
  class sender {
   public:
    /// Creates an end that belongs to no channel.
    sender() = default;

    /// Sends the value and leaves the channel. Returns true, or false if the receiver has left or
    /// if this end has already sent or belongs to no channel; in that case `value` has not been
    /// moved from.
    bool send(T&& value) noexcept {
      const bool sent = block_ && block_->store(value);
      if (sent) block_.reset();
      return sent;
    }
    /// Overload that sends a copy of `value`. Errors: the exceptions of the copy, without effect.
    bool send(const T& value)
      requires std::is_copy_constructible_v<T>
    {
      T copy(value);
      return send(std::move(copy));
    }

    /// Waits until the receiver leaves, so that a server can stop work whose result is not needed.
    ///
    /// Errors:       cancelled.
    /// Cancellation: total.
    [[nodiscard]] awaits<void> auto closed(
        std::source_location where = std::source_location::current()) {
      return await_operation<closed_operation>(where, &checked());
    }
    /// Returns true if the receiver has left, or if this end has sent or belongs to no channel.
    [[nodiscard]] bool is_closed() const noexcept { return !block_ || block_->has_no_receiver(); }
    /// Returns true if the end belongs to a channel and has not sent yet.
    [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }

   private:
    friend struct oneshot;
    explicit sender(block* b) noexcept : block_(b) {}
    [[nodiscard]] block& checked() const noexcept {
      LEAT_ASSERT(block_, "sender of a oneshot used after it has sent or was moved from");
      return *block_;
    }
    std::unique_ptr<block, sender_end> block_;
  };

  /// The end that receives. Movable.
  class receiver {
   public:
    /// Creates an end that belongs to no channel.
    receiver() = default;

    /// Waits for the value.
    ///
    /// Returns the value, or an empty optional if the sender left without sending one, or if the
    /// value has already been received. From then on it completes immediately, so do not call it
    /// again in a loop with select().
    ///
    /// Errors:       cancelled.
    /// Cancellation: total: the value stays in the channel, and the next call returns it.
    [[nodiscard]] awaits<std::optional<T>> auto receive(
        std::source_location where = std::source_location::current()) {
      return await_operation<receive_operation>(where, &checked());
    }
    /// Returns the value if it has been sent, without waiting.
    [[nodiscard]] std::optional<T> try_receive() noexcept { return checked().take(); }
    /// Waits like receive(), with an Asio completion token; see semaphore::async_acquire(). The
    /// receiver must not be destroyed before the handler is called.
    ///
    /// Completion:   void(asio_error_code, std::optional<T>)
    template <asio::completion_token_for<void(asio_error_code, std::optional<T>)> Token>
    auto async_receive(Token&& token,
                       std::source_location where = std::source_location::current()) {
      return initiate<receive_operation>(where, std::forward<Token>(token), &checked());
    }
    /// Returns true if the end belongs to a channel.
    [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }

   private:
    friend struct oneshot;
    explicit receiver(block* b) noexcept : block_(b) {}
    [[nodiscard]] block& checked() const noexcept {
      LEAT_ASSERT(block_, "receiver of a oneshot used after it was moved from");
      return *block_;
    }
    std::unique_ptr<block, receiver_end> block_;
  };

  /// Creates a channel. `name` appears in messages and dumps. Errors: std::bad_alloc.
  explicit oneshot(std::string name = {}) : oneshot(new block(std::move(name))) {}

  sender tx;    ///< the end that sends
  receiver rx;  ///< the end that receives

 private:
  explicit oneshot(block* b) noexcept : tx(b), rx(b) {}
};

}  // namespace LEAT
