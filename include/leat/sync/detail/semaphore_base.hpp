#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "leat/sync/detail/state_synchronizer.hpp"

namespace LEAT::detail {

struct lock_holder;

/// Permits that operations acquire and guards return: the base of semaphore, mutex and
/// shared_mutex.
class semaphore_base : public state_synchronizer {
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
    ~guard_base() {
      if (owner_) owner_->release_held(count_);
    }

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
      : state_synchronizer(type, order::first_in_first_out, std::move(name),
                           std::min<std::size_t>(free, state_lock::largest), true),
        total_(this->free()),
        maximum_(std::min<std::size_t>(maximum, state_lock::largest)) {}
  ~semaphore_base() override = default;

  /// For the destructor of a primitive: ends the process with a message if guards hold permits.
  /// `holder`: that of an exclusive lock, or null.
  void check_unheld(const lock_holder* holder) const noexcept LEAT_NO_ANALYSIS {
    // ~synchronizer() names the waiting tasks.
    if (free() != total_ && waiting_.empty()) [[unlikely]]
      destroyed_while_held(holder);
  }

  /// Returns the number of free permits. Call it under the lock: a hand-over adds permits before it
  /// serves the waiting operations.
  [[nodiscard]] std::size_t free() const noexcept { return state().number(); }
  /// Like free(), without the lock. The number was correct at some moment.
  [[nodiscard]] std::size_t read_free() const noexcept {
    state_lock::word permits = 0;
    if (state().read(permits)) [[likely]]
      return permits;
    const section lock(*this);
    return free();
  }

  /// Takes permits for a guard if that is possible without a wait and without overtaking.
  [[nodiscard]] bool try_take(std::size_t count) noexcept LEAT_REQUIRES(mutex_) {
    if (count > free() || !waiting_.empty() || closed_) return false;
    set_free(free() - count);
    return true;
  }

  /// Adds permits up to the maximum, and serves the waiting operations. Returns false if the
  /// maximum was exceeded.
  bool add_permits(std::size_t count) noexcept;
  /// Returns the permits of a guard, or of an operation that was granted them and is undone.
  void release_held(std::size_t count) noexcept {
    if (!state().give(count, maximum_)) [[unlikely]]
      release_and_serve(count);
  }
  [[gnu::noinline]] void release_and_serve(std::size_t count) noexcept;
  void forget_held(std::size_t count) noexcept;
  void set_free(std::size_t n) noexcept LEAT_REQUIRES(mutex_) { state().set_number(n); }

  [[nodiscard]] bool is_ready(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return w.request() <= free();
  }
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_) {
    set_free(free() - w.request());
  }
  [[nodiscard]] wait_outcome outcome_if_closed(const synchronizer_waiter&) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return closed_ ? wait_outcome::closed : wait_outcome::waiting;
  }

  [[nodiscard]] bool has_consistent_state() const noexcept override LEAT_REQUIRES(mutex_) {
    return free() <= maximum_ && free() <= total_;
  }

  // The free permits and those that guards hold or operations were granted.
  std::size_t total_ LEAT_GUARDED_BY(mutex_);
  const std::size_t maximum_;
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;
  bool has_other_sources_ LEAT_GUARDED_BY(mutex_) = false;  // permits do not only come from guards

 private:
  [[noreturn, gnu::cold]] void destroyed_while_held(const lock_holder* holder) const noexcept
      LEAT_NO_ANALYSIS;
  // Like serve(), without the virtual functions that this class knows.
  [[nodiscard]] work_list serve_permits() noexcept LEAT_REQUIRES(mutex_);
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

}  // namespace LEAT::detail
