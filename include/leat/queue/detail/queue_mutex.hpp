#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/cache_line_gap.hpp"
#include "leat/base/internal/thread_annotations.hpp"
#include "leat/base/internal/thread_mutex.hpp"

namespace leat::detail {

/// The lock of a queue, with the counts of its items.
///
/// While no operation waits, a push changes only the back of a first-in, first-out queue, and a pop
/// only its front. So each side has a lock of its own, on one cache line with all that the side
/// changes, and a push or pop that completes immediately locks one side. It reads the count of the
/// other side only if the value that it read last does not suffice. Everything else takes the whole
/// lock, which is both sides: the back first.
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

  // ---- Under the whole lock.

  /// The number of items.
  [[nodiscard]] std::size_t size() const noexcept {
    return back_.entered.load(std::memory_order_relaxed) -
           front_.left.load(std::memory_order_relaxed);
  }
  /// The number of items that were ever added.
  [[nodiscard]] std::uint64_t entered() const noexcept {
    return back_.entered.load(std::memory_order_relaxed);
  }
  /// The largest size so far, of pushes and returns.
  [[nodiscard]] std::size_t peak() const noexcept { return back_.peak; }

  /// Sets how far operations on one side may go: pushes up to a size of `limit`, pops down to a
  /// size of `floor`. A limit of 0 or a floor of `none` sends every operation to the whole lock.
  void set_bounds(std::size_t limit, std::size_t floor) noexcept {
    back_.limit = limit;
    front_.floor = floor;
  }
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Return true if one side alone may add to `n` items, or remove from them.
  [[nodiscard]] bool may_add(std::size_t n, std::size_t count) const noexcept {
    return n + count <= back_.limit;
  }
  [[nodiscard]] bool may_remove(std::size_t n, std::size_t count) const noexcept {
    return n > front_.floor && n - front_.floor >= count;
  }
  /// Counts items that are added to `n` others.
  void add(std::size_t n, std::size_t count) noexcept {
    publish_added(count);
    if (n + count > back_.peak) back_.peak = n + count;
  }
  void add(std::size_t count) noexcept {
    const std::size_t entered = back_.entered.load(std::memory_order_relaxed) + count;
    back_.entered.store(entered, std::memory_order_release);  // see publish_added()
    const std::size_t n = entered - front_.left.load(std::memory_order_relaxed);
    if (n > back_.peak) back_.peak = n;
  }
  // release: pairs with may_add_at_back().
  void remove(std::size_t count) noexcept {
    front_.left.store(front_.left.load(std::memory_order_relaxed) + count,
                      std::memory_order_release);
  }
  /// Items that were removed are there again.
  void take_back(std::size_t count) noexcept {
    const std::size_t left = front_.left.load(std::memory_order_relaxed) - count;
    front_.left.store(left, std::memory_order_release);
    back_.left_seen = left;  // it must not be too high
    back_.peak = std::max(back_.peak, size());
  }
  /// An item has passed through without being stored.
  void pass() noexcept {
    publish_added(1);
    remove(1);
    if (back_.peak == 0) back_.peak = 1;
  }

  // ---- One side, without the whole lock.
  //
  // Only a success is final. Whether a queue is full or empty is decided under the whole lock: a
  // side may see an old count of the other side, and a caller may rely on what a failed operation
  // implies about memory that it shares with other threads.

  /// Calls `store`, which adds `count` items at the back. Returns false, without effect, if that
  /// needs the whole lock, or if one thread owns the queue.
  template <class Store>
  [[nodiscard]] bool add_at_back(std::size_t count, Store store) noexcept LEAT_NO_ANALYSIS {
    if (!is_shared_.load(std::memory_order_acquire)) return false;
    back_.mutex.lock();
    const bool adds = may_add_at_back(count);
    if (adds) [[likely]] {
      store();
      publish_added(count);
    }
    back_.mutex.unlock();
    return adds;
  }

  /// Like add_at_back(), for `take`, which removes `count` items at the front.
  template <class Take>
  [[nodiscard]] bool remove_at_front(std::size_t count, Take take) noexcept LEAT_NO_ANALYSIS {
    if (!is_shared_.load(std::memory_order_acquire)) return false;
    front_.mutex.lock();
    const bool removes = may_remove_at_front(count);
    if (removes) [[likely]] {
      take();
      remove(count);
    }
    front_.mutex.unlock();
    return removes;
  }

 private:
  [[nodiscard]] bool may_add_at_back(std::size_t count) noexcept {
    const std::size_t entered = back_.entered.load(std::memory_order_relaxed) + count;
    if (entered - back_.left_seen <= std::min(back_.limit, back_.peak)) return true;
    // acquire: pairs with remove(). The slots of these items are free.
    back_.left_seen = front_.left.load(std::memory_order_acquire);
    const std::size_t n = entered - back_.left_seen;
    if (n > back_.limit) return false;
    back_.peak = std::max(back_.peak, n);
    return true;
  }
  [[nodiscard]] bool may_remove_at_front(std::size_t count) noexcept {
    if (is_above_floor(count)) return true;
    // acquire: pairs with publish_added(). These items are stored.
    front_.entered_seen = back_.entered.load(std::memory_order_acquire);
    return is_above_floor(count);
  }
  // release: pairs with may_remove_at_front().
  void publish_added(std::size_t count) noexcept {
    back_.entered.store(back_.entered.load(std::memory_order_relaxed) + count,
                        std::memory_order_release);
  }
  [[nodiscard]] bool is_above_floor(std::size_t count) const noexcept {
    const std::size_t n = front_.entered_seen - front_.left.load(std::memory_order_relaxed);
    // More may have left under the whole lock.
    return static_cast<std::ptrdiff_t>(n) > 0 && may_remove(n, count);
  }
  [[nodiscard, gnu::noinline]] bool lock_sides() noexcept LEAT_NO_ANALYSIS;
  void unlock_sides() noexcept LEAT_NO_ANALYSIS;

  biased_mutex gate_;
  std::atomic<bool> is_shared_{false};  // the sides are in use
  const bool has_sides_;
  [[maybe_unused]] cache_line_gap before_back_;
  struct {
    thread_mutex mutex;
    std::atomic<std::size_t> entered{0};
    std::size_t left_seen = 0;  // at most front_.left
    std::size_t limit = 0;
    std::size_t peak = 0;
  } back_;
  [[maybe_unused]] cache_line_gap before_front_;
  struct {
    thread_mutex mutex;
    std::atomic<std::size_t> left{0};
    std::size_t entered_seen = 0;  // at most back_.entered
    std::size_t floor = none;
  } front_;
  [[maybe_unused]] cache_line_gap after_front_;
};

/// Holds the whole lock of a queue for a scope.
using queue_lock = held_lock<queue_mutex>;

}  // namespace leat::detail
