#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/cache_line_gap.hpp"
#include "leat/base/internal/thread_annotations.hpp"
#include "leat/base/internal/thread_mutex.hpp"

namespace LEAT::detail {

/// The lock of a queue, with the counts of its items.
///
/// While no operation waits, a push changes only the back of a first-in, first-out queue, and a pop
/// only its front. So each side has a lock of its own, on one cache line with all that the side
/// changes, and a push or pop that completes immediately locks one side. It reads the count of the
/// other side only if the value that it read last does not suffice. Everything else takes the whole
/// lock, which is both sides: the back first. The counts are also the numbers of the items: see
/// numbered_order.
///
/// The whole lock is biased: see biased_mutex. The sides are in use after a second thread has
/// locked the queue. A queue in which each operation can change everything uses the lock of one
/// side only.
///
/// lock() returns how the whole lock was locked; pass this value to unlock().
class LEAT_CAPABILITY("mutex") queue_mutex {
 public:
  explicit queue_mutex(bool has_sides) noexcept : has_sides_(has_sides) {}
  queue_mutex(const queue_mutex&) = delete;
  queue_mutex& operator=(const queue_mutex&) = delete;

  // ---- The whole lock.

  /// Returns true if the thread entered as the owner; leave with unlock(true).
  [[nodiscard, gnu::always_inline]] bool try_lock_as_owner() noexcept
      LEAT_TRY_ACQUIRE(true) LEAT_NO_ANALYSIS {
    return gate_.try_lock_as_owner();
  }
  /// Returns true if the thread entered as the owner.
  [[nodiscard]] bool lock() noexcept LEAT_ACQUIRE() LEAT_NO_ANALYSIS {
    return try_lock_as_owner() || lock_sides();
  }
  [[gnu::always_inline]] void unlock(bool as_owner) noexcept LEAT_RELEASE() LEAT_NO_ANALYSIS {
    if (as_owner) {
      gate_.unlock(true);
    } else {
      unlock_sides();
    }
  }
  /// Returns true if no thread has locked it yet.
  [[nodiscard]] bool never_locked() const noexcept { return gate_.never_locked(); }

  /// The number of items, without the lock: it was correct at some moment, give or take the
  /// operations in progress.
  [[nodiscard]] std::size_t approximate_size() const noexcept {
    const std::size_t left = front_.left.load(std::memory_order_relaxed);
    const std::size_t entered = back_.entered.load(std::memory_order_relaxed);
    return entered > left ? entered - left : 0;
  }

  // ---- Under the whole lock, or the lock of the side.

  /// How many items have ever entered, and left without returning. They number the items.
  [[nodiscard]] std::size_t entered() const noexcept {
    return back_.entered.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t left() const noexcept {
    return front_.left.load(std::memory_order_relaxed);
  }

  // ---- Under the whole lock.

  /// The number of items.
  [[nodiscard]] std::size_t size() const noexcept {
    return back_.entered.load(std::memory_order_relaxed) -
           front_.left.load(std::memory_order_relaxed);
  }
  /// The largest size so far, of pushes and returns.
  [[nodiscard]] std::size_t peak() const noexcept { return back_.peak; }

  /// Sets how far operations on one side may go: pushes up to a size of `limit`, pops down to a
  /// size of `floor`. A limit of 0 or a floor of `none` sends every operation to the whole lock.
  void set_bounds(std::size_t limit, std::size_t floor) noexcept {
    back_.limit = limit;
    front_.floor = floor;
    // As if each side had just looked at the other one.
    const std::size_t in = entered();
    const std::size_t out = left();
    const std::size_t n = in - out;
    const std::size_t most = std::min(limit, back_.peak);
    back_.end = n < most ? out + most : in;
    front_.end = n > floor ? in - floor : out;
  }
  /// Sends every operation to the whole lock.
  void set_no_bounds() noexcept {
    back_.limit = 0;
    front_.floor = none;
    close_sides();
  }
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Counts items that are added.
  void add(std::size_t count) noexcept {
    const std::size_t in = entered() + count;
    publish_entered(in);
    back_.end = in;
    back_.peak = std::max(back_.peak, size());
  }
  void remove(std::size_t count) noexcept {
    const std::size_t out = left() + count;
    publish_left(out);
    front_.end = out;
  }
  /// Items that were removed are there again.
  void take_back(std::size_t count) noexcept {
    publish_left(left() - count);
    close_sides();
    back_.peak = std::max(back_.peak, size());
  }
  /// An item has passed through without being stored.
  void pass() noexcept {
    exchange_one();
    if (back_.peak == 0) back_.peak = 1;
  }
  /// An item has been removed and another one added.
  void exchange_one() noexcept {
    const std::size_t in = entered() + 1;
    const std::size_t out = left() + 1;
    publish_entered(in);
    publish_left(out);
    back_.end = in;
    front_.end = out;
  }

  // ---- One side, under its lock or the whole lock.

  /// Return true if the side may add `count` items, or remove them; publish_entered() or
  /// publish_left() follows. One comparison stands for the capacity, the memory, the close, the
  /// waiting operations and the peak. `in` and `out` are entered() and left(): the compiler would
  /// read an atomic variable again.
  [[nodiscard, gnu::always_inline]] bool may_add(std::size_t in, std::size_t count) const noexcept {
    return back_.end - in >= count;
  }
  [[nodiscard, gnu::always_inline]] bool may_remove(std::size_t out,
                                                    std::size_t count) const noexcept {
    return front_.end - out >= count;
  }
  /// Like may_add() and may_remove(), after these have returned false and the caller has looked at
  /// the other side: `out` is left_seen(), or `in` is entered_seen().
  [[nodiscard, gnu::always_inline]] bool extend_back(std::size_t in, std::size_t out,
                                                     std::size_t count) noexcept {
    const std::size_t n = in - out + count;
    if (n > back_.limit) return false;
    if (n > back_.peak) back_.peak = n;
    back_.end = out + std::min(back_.limit, back_.peak);
    return true;
  }
  [[nodiscard, gnu::always_inline]] bool extend_front(std::size_t in, std::size_t out,
                                                      std::size_t count) noexcept {
    const std::size_t n = in - out;
    if (n <= front_.floor || n - front_.floor < count) return false;
    front_.end = in - front_.floor;
    return true;
  }
  [[nodiscard]] std::size_t left_seen() const noexcept {
    // acquire: pairs with publish_left(). The slots of these items are free.
    return front_.left.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::size_t entered_seen() const noexcept {
    // acquire: pairs with publish_entered(). These items are stored.
    return back_.entered.load(std::memory_order_acquire);
  }
  [[gnu::always_inline]] void publish_entered(std::size_t in) noexcept {
    back_.entered.store(in, std::memory_order_release);  // pairs with entered_seen()
  }
  [[gnu::always_inline]] void publish_left(std::size_t out) noexcept {
    front_.left.store(out, std::memory_order_release);  // pairs with left_seen()
  }

  // ---- One side, without the whole lock.
  //
  // Only a success is final. Whether a queue is full or empty is decided under the whole lock: a
  // side may see an old count of the other side, and a caller may rely on what a failed operation
  // implies about memory that it shares with other threads.

  /// Calls `store` with entered(), which adds `count` items at the back. Returns false, without
  /// effect, if that needs the whole lock, or if one thread owns the queue.
  template <class Store>
  [[nodiscard]] bool add_at_back(std::size_t count, Store store) noexcept LEAT_NO_ANALYSIS {
    if (!is_shared_.load(std::memory_order_acquire)) return false;
    back_.mutex.lock();
    const std::size_t in = entered();
    const bool adds = may_add(in, count) || extend_back(in, left_seen(), count);
    if (adds) [[likely]] {
      store(in);
      publish_entered(in + count);
    }
    back_.mutex.unlock();
    return adds;
  }

  /// Like add_at_back(), for `take`, which removes `count` items at the front and receives left().
  template <class Take>
  [[nodiscard]] bool remove_at_front(std::size_t count, Take take) noexcept LEAT_NO_ANALYSIS {
    if (!is_shared_.load(std::memory_order_acquire)) return false;
    front_.mutex.lock();
    const std::size_t out = left();
    const bool removes = may_remove(out, count) || extend_front(entered_seen(), out, count);
    if (removes) [[likely]] {
      take(out);
      publish_left(out + count);
    }
    front_.mutex.unlock();
    return removes;
  }

 private:
  // Makes the next operation of each side look at the other.
  void close_sides() noexcept {
    back_.end = entered();
    front_.end = left();
  }
  [[nodiscard, gnu::noinline]] bool lock_sides() noexcept LEAT_NO_ANALYSIS;
  void unlock_sides() noexcept LEAT_NO_ANALYSIS;

  biased_mutex gate_;
  std::atomic<bool> is_shared_{false};  // the sides are in use
  const bool has_sides_;
  [[maybe_unused]] cache_line_gap before_back_;
  // The end of a side is the count that it may reach without a look at the other side. It is never
  // below the count.
  struct {
    thread_mutex mutex;
    std::atomic<std::size_t> entered{0};
    std::size_t end = 0;
    std::size_t limit = 0;
    std::size_t peak = 0;
  } back_;
  [[maybe_unused]] cache_line_gap before_front_;
  struct {
    thread_mutex mutex;
    std::atomic<std::size_t> left{0};
    std::size_t end = 0;
    std::size_t floor = none;
  } front_;
  [[maybe_unused]] cache_line_gap after_front_;
};

/// Holds the whole lock of a queue for a scope.
using queue_lock = held_lock<queue_mutex>;

}  // namespace LEAT::detail
