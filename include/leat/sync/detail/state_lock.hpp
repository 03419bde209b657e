#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leat/base/internal/preemption_hook.hpp"
#include "leat/base/internal/thread_annotations.hpp"

namespace leat::detail {

/// The lock of a primitive and its number, such as the free permits of a semaphore, in one word.
///
/// While no operation waits, an operation that need not wait changes the number with one
/// compare-exchange: the short path. Everything else takes the lock. The word has, from the lowest
/// bit:
///
///   held     a thread is inside the lock
///   waiting  operations wait, so a later one must not overtake them
///   general  never a short path: a semaphore that is closed, or a primitive of a simulation, whose
///            preemption points are in lock() and unlock()
///   number   the other bits, of which one is not used, so that a sum fits
///
/// While the lock is held, other threads can only set `held`, which is set already. So the holder
/// changes the word with plain stores, and the last of them releases the lock.
///
/// See docs/decisions/0014-state-lock.md. Thread safety: thread-safe. Cost: one atomic instruction
/// for a lock or for a short path.
class LEAT_CAPABILITY("mutex") state_lock {
 public:
  using word = std::uint64_t;
  static constexpr word held = 1;
  static constexpr word waiting = 2;
  static constexpr word general = 4;
  static constexpr word one = 8;  ///< the number 1
  static constexpr word largest = ~word{0} / one / 2;

  explicit state_lock(word number) noexcept
      : word_(number * one | (preemption_hook::is_simulated() ? general : 0)) {}
  state_lock(const state_lock&) = delete;
  state_lock& operator=(const state_lock&) = delete;

  // ---- The short paths.

  enum class attempt : std::uint8_t {
    done,
    refused,  ///< the number is too small, or other operations wait
    unknown   ///< not done: take the lock
  };

  /// Takes the number 1 and leaves 0. If it is done, the caller is inside the lock, and leave()
  /// follows.
  [[nodiscard, gnu::always_inline]] attempt take_one() noexcept LEAT_NO_ANALYSIS {
    word seen = one;
    // acquire, also on failure: the caller may rely on what the holder did before it took it.
    if (word_.compare_exchange_strong(seen, held, std::memory_order_acquire,
                                      std::memory_order_acquire)) [[likely]]
      return attempt::done;
    return (seen & ~waiting) == 0 ? attempt::refused : attempt::unknown;
  }
  /// Takes `n`, and sets `left` to what leave() must store. Like take_one() otherwise.
  [[nodiscard, gnu::always_inline]] attempt take(word n, word& left) noexcept LEAT_NO_ANALYSIS {
    word seen = word_.load(std::memory_order_acquire);
    if ((seen & (held | waiting | general)) == 0) [[likely]] {
      if (__builtin_sub_overflow(seen, n * one, &left)) [[unlikely]]
        return attempt::refused;
      if (word_.compare_exchange_strong(seen, left | held, std::memory_order_acquire,
                                        std::memory_order_relaxed)) [[likely]]
        return attempt::done;
      return attempt::unknown;
    }
    return (seen & (held | general)) == 0 ? attempt::refused : attempt::unknown;
  }
  /// Enters the lock if it is free, without a preemption point. inside() and leave() follow; if
  /// inside() has `general`, leave() must restore it, and lock() must be used.
  [[nodiscard, gnu::always_inline]] bool enter() noexcept LEAT_NO_ANALYSIS {
    return (word_.fetch_or(held, std::memory_order_acquire) & held) == 0;
  }
  /// Returns the word that leave() restores.
  [[nodiscard, gnu::always_inline]] word inside() const noexcept {
    return word_.load(std::memory_order_relaxed) & ~held;
  }
  /// Leaves the lock after take(), take_one() or enter().
  [[gnu::always_inline]] void leave(word left = 0) noexcept LEAT_NO_ANALYSIS {
    word_.store(left, std::memory_order_release);
  }

  /// Changes the number from 0 to 1. Returns false, without effect, if it needs the lock.
  [[nodiscard, gnu::always_inline]] bool give_one() noexcept {
    word seen = 0;
    return word_.compare_exchange_strong(seen, one, std::memory_order_release,
                                         std::memory_order_relaxed);
  }
  /// Adds `n`. Returns false, without effect, if it needs the lock or the sum exceeds `maximum`.
  [[nodiscard, gnu::always_inline]] bool give(word n, word maximum) noexcept {
    word seen = word_.load(std::memory_order_relaxed);
    const word sum = seen + n * one;
    if ((seen & (held | waiting | general)) != 0 || sum > maximum * one) return false;
    return word_.compare_exchange_strong(seen, sum, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// Sets the number. Returns false, without effect, if it needs the lock. Writes the word also if
  /// the number is the same, so that who sees it sees what the caller did before.
  [[nodiscard, gnu::always_inline]] bool set(word number) noexcept {
    word seen = word_.load(std::memory_order_relaxed);
    if ((seen & (held | waiting | general)) != 0) return false;
    return word_.compare_exchange_strong(seen, number * one, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }
  /// Returns true if the number is `n` and a short path is possible, so that no thread is inside.
  [[nodiscard, gnu::always_inline]] bool is_simply(word n) const noexcept {
    return word_.load(std::memory_order_acquire) == n * one;
  }

  // ---- The lock.

  void lock() noexcept LEAT_ACQUIRE() LEAT_NO_ANALYSIS {
    preemption_hook::before_lock();
    if (!enter()) [[unlikely]]
      lock_contended();
  }
  /// Returns false if it is held, and in a simulation.
  [[nodiscard]] bool try_lock() noexcept LEAT_TRY_ACQUIRE(true) LEAT_NO_ANALYSIS {
    return !preemption_hook::is_simulated() && enter();
  }
  /// `still_waiting`: operations wait.
  void unlock(bool still_waiting) noexcept LEAT_RELEASE() LEAT_NO_ANALYSIS {
    const word seen = inside() & ~waiting;
    leave(still_waiting ? seen | waiting : seen);
    preemption_hook::after_unlock();
  }

  /// Sets `number` to the number, without the lock. Returns false if a thread is inside, which may
  /// change it in several steps.
  [[nodiscard]] bool read(word& number) const noexcept {
    const word seen = word_.load(std::memory_order_acquire);
    number = seen / one;
    return (seen & held) == 0;
  }

  /// Under the lock, except that number() may be read at any time if it changes in one step.
  [[nodiscard]] word number() const noexcept { return word_.load(std::memory_order_acquire) / one; }
  void set_number(word n) noexcept {
    // release: pairs with number() without the lock.
    word_.store(n * one | (word_.load(std::memory_order_relaxed) & (one - 1)),
                std::memory_order_release);
  }
  /// Ends the short paths for good.
  void make_general() noexcept {
    word_.store(word_.load(std::memory_order_relaxed) | general, std::memory_order_relaxed);
  }

 private:
  [[gnu::cold]] void lock_contended() noexcept;

  std::atomic<word> word_;
};

}  // namespace leat::detail
