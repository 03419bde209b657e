#pragma once

#include <atomic>
#include <cstdint>

#include "leat/base/internal/preemption_hook.hpp"
#include "leat/base/internal/thread_annotations.hpp"
#include "leat/sync/detail/biased_word.hpp"

namespace LEAT::detail {

/// The lock of a primitive and its number, such as the free permits of a semaphore, in one word.
///
/// While no operation waits, an operation that need not wait changes the number with one
/// compare-exchange of a biased_word: the short path. Everything else takes the lock. The word has,
/// from the lowest bit:
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
/// for a lock or for a short path, and none while one thread owns the word.
class LEAT_CAPABILITY("mutex") state_lock {
 public:
  using word = std::uint64_t;
  static constexpr word held = 1;
  static constexpr word waiting = 2;
  static constexpr word general = 4;
  static constexpr word one = 8;  ///< the number 1
  static constexpr word largest = ~word{0} / one / 2;

  /// If `may_be_owned`, the first thread uses it without atomic instructions: see biased_word.
  state_lock(word number, bool may_be_owned) noexcept
      : word_(number * one | (preemption_hook::is_simulated() ? general : 0),
              may_be_owned && !preemption_hook::is_simulated()) {}
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
    if (word_.change_as_owner([&](word& w) {
          seen = w;
          if (w == one) [[likely]]
            w = held;
        })) [[likely]] {
      if (seen == one) [[likely]]
        return attempt::done;
    } else if (word_.is_shared()) {
      // acquire, also on failure: the caller may rely on what the holder did before it took it.
      if (word_.shared().compare_exchange_strong(seen, held, std::memory_order_acquire,
                                                 std::memory_order_acquire)) [[likely]]
        return attempt::done;
    }
    return (seen & ~waiting) == 0 ? attempt::refused : attempt::unknown;
  }
  /// Takes `n`, and sets `left` to what leave() must store. Like take_one() otherwise.
  [[nodiscard, gnu::always_inline]] attempt take(word n, word& left) noexcept LEAT_NO_ANALYSIS {
    attempt result = attempt::unknown;
    if (word_.change_as_owner([&](word& w) {
          result = can_take(w, n, left);
          if (result == attempt::done) [[likely]]
            w = left | held;
        })) [[likely]]
      return result;
    if (!word_.is_shared()) [[unlikely]]
      return result;
    word seen = word_.load(std::memory_order_acquire);
    result = can_take(seen, n, left);
    if (result != attempt::done) return result;
    return word_.shared().compare_exchange_strong(seen, left | held, std::memory_order_acquire,
                                                  std::memory_order_relaxed)
               ? attempt::done
               : attempt::unknown;
  }
  /// Enters the lock if it is free, without a preemption point. Returns false also if the thread is
  /// not admitted to the word. inside() and leave() follow; if inside() has `general`, leave() must
  /// restore it, and lock() must be used.
  [[nodiscard, gnu::always_inline]] bool enter() noexcept LEAT_NO_ANALYSIS {
    // No other thread holds the lock while this one owns the word.
    if (word_.change_as_owner([](word& w) { w |= held; })) [[likely]]
      return true;
    return word_.is_shared() && enter_shared();
  }
  /// Like enter(), for a lock that no thread may own.
  [[nodiscard, gnu::always_inline]] bool enter_shared() noexcept LEAT_NO_ANALYSIS {
    return (word_.shared().fetch_or(held, std::memory_order_acquire) & held) == 0;
  }
  /// Returns the word that leave() restores.
  [[nodiscard, gnu::always_inline]] word inside() const noexcept {
    return word_.load(std::memory_order_relaxed) & ~held;
  }
  /// Leaves the lock after take(), take_one() or enter().
  [[gnu::always_inline]] void leave(word left = 0) noexcept LEAT_NO_ANALYSIS {
    word_.store(left, std::memory_order_release);
  }

  /// Changes the number from 0 to 1 (`done`), or enters the lock if that is not possible
  /// (`refused`), or does neither (`unknown`).
  [[nodiscard, gnu::always_inline]] attempt give_one_or_enter() noexcept LEAT_NO_ANALYSIS {
    word seen = 0;
    if (word_.change_as_owner([&](word& w) {
          seen = w;
          w = w == 0 ? one : w | held;
        })) [[likely]]
      return seen == 0 ? attempt::done : attempt::refused;
    if (!word_.is_shared()) [[unlikely]]
      return attempt::unknown;
    if (word_.shared().compare_exchange_strong(seen, one, std::memory_order_release,
                                               std::memory_order_relaxed)) [[likely]]
      return attempt::done;
    return enter_shared() ? attempt::refused : attempt::unknown;
  }
  /// Adds `n`. Returns false, without effect, if it needs the lock or the sum exceeds `maximum`.
  [[nodiscard, gnu::always_inline]] bool give(word n, word maximum) noexcept {
    bool done = false;
    if (word_.change_as_owner([&](word& w) {
          done = can_give(w, n, maximum);
          if (done) [[likely]]
            w += n * one;
        })) [[likely]]
      return done;
    if (!word_.is_shared()) [[unlikely]]
      return false;
    word seen = word_.load(std::memory_order_relaxed);
    return can_give(seen, n, maximum) &&
           word_.shared().compare_exchange_strong(seen, seen + n * one, std::memory_order_release,
                                                  std::memory_order_relaxed);
  }

  /// Sets the number of a lock that no thread may own. Returns false, without effect, if it needs
  /// the lock. Writes the word also if
  /// the number is the same, so that who sees it sees what the caller did before.
  [[nodiscard, gnu::always_inline]] bool set(word number) noexcept {
    word seen = word_.load(std::memory_order_relaxed);
    if ((seen & (held | waiting | general)) != 0) return false;
    return word_.shared().compare_exchange_strong(seen, number * one, std::memory_order_acq_rel,
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
      lock_slowly();
  }
  /// Returns false if it is held, if another thread owns the word, and in a simulation.
  [[nodiscard]] bool try_lock() noexcept LEAT_TRY_ACQUIRE(true) LEAT_NO_ANALYSIS {
    return !preemption_hook::is_simulated() && word_.admits() && enter();
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

  /// The lock of the owner of the word.
  [[nodiscard]] biased_mutex& gate() noexcept { return word_.gate(); }

 private:
  // The result of take() if the word is `seen`.
  [[nodiscard, gnu::always_inline]] static attempt can_take(word seen, word n,
                                                            word& left) noexcept {
    if ((seen & (held | waiting | general)) == 0) [[likely]]
      return __builtin_sub_overflow(seen, n * one, &left) ? attempt::refused : attempt::done;
    return (seen & (held | general)) == 0 ? attempt::refused : attempt::unknown;
  }
  [[nodiscard, gnu::always_inline]] static bool can_give(word seen, word n, word maximum) noexcept {
    return (seen & (held | waiting | general)) == 0 && seen + n * one <= maximum * one;
  }
  [[gnu::cold]] void lock_slowly() noexcept;

  biased_word word_;
};

}  // namespace LEAT::detail
