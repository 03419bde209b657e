#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "leat/sync/synchronizer.hpp"

namespace leat::detail {

struct lock_holder;

/// Permits that operations acquire and guards return: the base of semaphore, mutex and
/// shared_mutex.
class semaphore_base : public synchronizer {
 public:
  /// Returns permits to a primitive; the base of its guards. Destroying it returns them.
  class guard_base {
   public:
    guard_base(guard_base&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), count_(other.count_) {}
    guard_base& operator=(guard_base&& other) noexcept {
      guard_base(std::move(other)).swap(*this);
      return *this;
    }
    ~guard_base() { give_back(); }

    /// Returns true if it holds something. A temporary holds it only until the end of its
    /// expression: to keep it, write `if (auto guard = m.try_lock())`.
    [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

   protected:
    guard_base() = default;
    guard_base(semaphore_base& owner, std::size_t count) noexcept : owner_(&owner), count_(count) {}

    void give_back() noexcept {
      if (owner_) std::exchange(owner_, nullptr)->release_held(count_);
    }
    [[nodiscard]] std::size_t count() const noexcept { return owner_ ? count_ : 0; }
    void forget() noexcept {
      if (owner_) std::exchange(owner_, nullptr)->forget_held(count_);
    }

   private:
    void swap(guard_base& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(count_, other.count_);
    }

    semaphore_base* owner_ = nullptr;
    std::size_t count_ = 0;
  };

 protected:
  semaphore_base(const char* type, std::size_t free, std::size_t maximum, std::string name) noexcept
      : synchronizer(type, order::first_in_first_out, std::move(name)),
        free_(free),
        total_(free),
        maximum_(maximum) {}
  ~semaphore_base() override = default;

  /// For the destructor of a primitive: ends the process with a message if guards hold permits.
  /// `holder`: that of an exclusive lock, or null.
  void check_unheld(const lock_holder* holder) const noexcept LEAT_NO_ANALYSIS {
    // ~synchronizer() names the waiting tasks.
    if (free_ != total_ && waiting_.empty()) [[unlikely]]
      destroyed_while_held(holder);
  }

  /// Takes permits for a guard if that is possible without a wait and without overtaking.
  [[nodiscard]] bool try_take(std::size_t count) noexcept LEAT_REQUIRES(mutex_) {
    if (count > free_ || !waiting_.empty() || closed_) return false;
    free_ -= count;
    return true;
  }

  /// Adds permits up to the maximum, and serves the waiting operations. Returns false if the
  /// maximum was exceeded.
  bool add_permits(std::size_t count) noexcept;
  /// Returns the permits of a guard, or of an operation that was granted them and is undone.
  void release_held(std::size_t count) noexcept LEAT_NO_ANALYSIS {
    if (!mutex_.try_lock_as_owner()) [[unlikely]]
      return release_and_serve(count, mutex_.lock());
    if (!waiting_.empty()) [[unlikely]]
      return release_and_serve(count, true);
    take_in(count);
    mutex_.unlock(true);
  }
  void forget_held(std::size_t count) noexcept;

  [[nodiscard]] bool is_ready(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return w.request() <= free_;
  }
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_) {
    free_ -= w.request();
  }
  [[nodiscard]] wait_outcome outcome_if_closed(const synchronizer_waiter&) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return closed_ ? wait_outcome::closed : wait_outcome::waiting;
  }

  [[nodiscard]] bool has_consistent_state() const noexcept override LEAT_REQUIRES(mutex_) {
    return free_ <= maximum_ && free_ <= total_;
  }

  std::size_t free_ LEAT_GUARDED_BY(mutex_);
  // The free permits and those that guards hold or operations were granted.
  std::size_t total_ LEAT_GUARDED_BY(mutex_);
  const std::size_t maximum_;
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;
  bool has_other_sources_ LEAT_GUARDED_BY(mutex_) = false;  // permits do not only come from guards

 private:
  [[noreturn, gnu::cold]] void destroyed_while_held(const lock_holder* holder) const noexcept
      LEAT_NO_ANALYSIS;
  void take_in(std::size_t count) noexcept LEAT_REQUIRES(mutex_) {
    if (count <= maximum_ - free_) [[likely]] {
      free_ += count;
    } else {
      total_ -= count - (maximum_ - free_);
      free_ = maximum_;
    }
  }
  // Like serve(), without the virtual functions that this class knows.
  [[nodiscard]] work_list serve_permits() noexcept LEAT_REQUIRES(mutex_);
  void release_and_serve(std::size_t count, bool owner) noexcept
      LEAT_RELEASE(mutex_) LEAT_NO_ANALYSIS;
};

/// The holder of an exclusive lock.
struct lock_holder {
  task_id task = {};  ///< none for a thread without a thread_record, or a handler
  std::source_location at = {};
  time_point since = {};

  [[nodiscard]] static lock_holder of(const synchronizer_waiter& w, time_point now) noexcept {
    return {w.task(), w.where(), now};
  }
  /// Appends ", held by 'writer' for 3.100 s at store.cpp:41", or without the name if it is empty.
  void append_to(std::string& text, time_point now, std::string_view name = {}) const;
  /// Sets what a dump says about the holder, and the task that ends the wait.
  void inspect(wait_target& target, time_point now) const;
};

}  // namespace leat::detail
