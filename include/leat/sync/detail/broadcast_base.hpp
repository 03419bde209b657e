#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/sync/synchronizer.hpp"

namespace LEAT {

/// The treatment of a receiver that has not read the oldest value when there is no space for a new
/// one.
enum class lag_policy : unsigned char {
  overwrite,  ///< send() overwrites the value; the receiver learns how many values it has missed
  wait        ///< send() waits for the receiver
};

namespace detail {

class broadcast_base;

/// The position of a receiver among all values that were ever sent; part of a list.
class broadcast_position {
 protected:
  broadcast_position() = default;
  ~broadcast_position() = default;

  friend class broadcast_base;
  broadcast_base* owner_ = nullptr;
  std::uint64_t next_ = 0;  // the number of the value that it reads next
  bool reading_ = false;    // an operation is in progress
  std::string name_;
  broadcast_position* previous_ = nullptr;
  broadcast_position* following_ = nullptr;
};

/// The positions of the values and receivers of a broadcast: the part that does not depend on the
/// type of its values.
///
/// Values have consecutive numbers, and value n is in slot n % capacity. For each stored value it
/// counts the receivers that have not read it. When this count is 0, the value is destroyed.
class broadcast_base : public synchronizer {
 public:
  /// Closes the broadcast: receivers get the remaining values and then an empty optional, and
  /// send() returns false. Returns false if it was closed before.
  bool close() noexcept;
  /// Returns true after close().
  [[nodiscard]] bool is_closed() const noexcept {
    const lock_type lock(mutex_);
    return closed_;
  }
  /// Returns the number of values that are stored at most.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Returns the number of receivers.
  [[nodiscard]] std::size_t receiver_count() const noexcept {
    const lock_type lock(mutex_);
    return receivers_;
  }

 protected:
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  broadcast_base(std::size_t capacity, lag_policy policy, std::string name);
  /// Ends the process with a message if there are receivers.
  ~broadcast_base() override;

  static const wait_operation::kind receive_kind;
  static const wait_operation::kind send_kind;

  enum class send_result : unsigned char { sent, full, closed };
  /// Stores a value, or finds that this has to wait.
  [[nodiscard]] send_result try_store(void* value) noexcept;

  // A receiver joins, leaves and moves. It starts with the value that is sent next.
  void join(broadcast_position& r) noexcept;
  void leave(broadcast_position& r) noexcept;
  void replace(broadcast_position& old, broadcast_position& by) noexcept;

  /// A read in progress: at most one for each receiver.
  class reading {
   public:
    reading() = default;
    reading(reading&& other) noexcept : receiver_(std::exchange(other.receiver_, nullptr)) {}
    reading& operator=(reading&&) = delete;
    ~reading() { end(); }
    void begin(broadcast_position& r) noexcept {
      if (r.reading_) [[unlikely]]
        abort_shared(r);
      r.reading_ = true;
      receiver_ = &r;
    }
    void end() noexcept {
      if (receiver_) std::exchange(receiver_, nullptr)->reading_ = false;
    }

   private:
    [[noreturn, gnu::cold]] static void abort_shared(const broadcast_position& r) noexcept;
    broadcast_position* receiver_ = nullptr;
  };

  [[nodiscard]] bool has_value_for(const broadcast_position& r) const noexcept
      LEAT_REQUIRES(mutex_) {
    return r.next_ != end_;
  }
  /// Returns the number of values that were overwritten before the receiver has read them.
  [[nodiscard]] std::uint64_t missed(const broadcast_position& r) const noexcept
      LEAT_REQUIRES(mutex_) {
    return r.next_ < begin_ ? begin_ - r.next_ : 0;
  }
  /// Returns the slot of the value that the receiver reads next.
  [[nodiscard]] std::size_t slot_for(const broadcast_position& r) const noexcept
      LEAT_REQUIRES(mutex_) {
    return slot_of(r.next_ < begin_ ? begin_ : r.next_);
  }
  /// Returns true if all other receivers have read the value of the slot.
  [[nodiscard]] bool is_last_reader(std::size_t slot) const noexcept LEAT_REQUIRES(mutex_) {
    return unread_[slot] == 1;
  }
  /// The receiver has read the value of `slot` after it has missed `missed` others. It has moved
  /// the value if it was the last reader. Returns the first operation that is served as a result,
  /// or null.
  [[nodiscard]] work_item* advance(broadcast_position& r, std::size_t slot,
                                   std::uint64_t missed) noexcept LEAT_REQUIRES(mutex_) {
    r.next_ += missed + 1;
    const bool is_read_by_all = --unread_[slot] == 0 && slot == begin_slot_;
    return is_read_by_all ? remove_oldest() : nullptr;
  }

  /// Moves a value to an empty slot.
  virtual void move_into(std::size_t slot, void* value) noexcept = 0;
  /// Exchanges a value and that of a slot.
  virtual void swap_with(std::size_t slot, void* value) noexcept = 0;
  /// Destroys the value of a slot.
  virtual void destroy_value(std::size_t slot) noexcept = 0;
  /// Returns true if all receivers have read the oldest value, or left, and sets its slot.
  [[nodiscard]] bool has_read_value(std::size_t& slot) const noexcept LEAT_REQUIRES(mutex_) {
    slot = slot_of(begin_);
    return begin_ != end_ && unread_[slot] == 0;
  }
  /// The oldest value has been moved out. Returns like advance().
  [[nodiscard, gnu::noinline]] work_item* remove_oldest() noexcept LEAT_REQUIRES(mutex_);
  /// Wakes what advance() or remove_oldest() has returned.
  [[gnu::noinline]] static void wake_from(work_item* first) noexcept;
  /// Destroys all stored values, for the destructor of a derived class.
  void clear() noexcept;

 private:
  // Precondition: begin_ <= number <= end_. It divides nothing, because that would take most of the
  // time of an operation.
  [[nodiscard]] std::size_t slot_of(std::uint64_t number) const noexcept LEAT_REQUIRES(mutex_) {
    const std::size_t slot = begin_slot_ + static_cast<std::size_t>(number - begin_);
    return slot < capacity_ ? slot : slot - capacity_;
  }
  [[nodiscard]] bool is_full() const noexcept LEAT_REQUIRES(mutex_) {
    return end_ - begin_ == capacity_;
  }
  void count_removed() noexcept LEAT_REQUIRES(mutex_) {
    ++begin_;
    if (++begin_slot_ == capacity_) begin_slot_ = 0;
  }
  void store(void* value) noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] work_list serve_after_read() noexcept LEAT_REQUIRES(mutex_);

  [[nodiscard]] bool is_ready(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_);
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_);
  [[nodiscard]] wait_outcome outcome_if_closed(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_);
  [[nodiscard]] std::size_t requested(const synchronizer_waiter&) const noexcept override {
    return 1;
  }
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter& w, wait_target& target) const override
      LEAT_REQUIRES(mutex_);

  const std::size_t capacity_;
  const lag_policy policy_;
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;
  std::uint64_t begin_ LEAT_GUARDED_BY(mutex_) = 0;     // the number of the oldest stored value
  std::uint64_t end_ LEAT_GUARDED_BY(mutex_) = 0;       // the number of the next value
  std::size_t begin_slot_ LEAT_GUARDED_BY(mutex_) = 0;  // begin_ % capacity
  std::vector<std::size_t> unread_;  // for each slot: receivers that have not read its value
  std::size_t receivers_ LEAT_GUARDED_BY(mutex_) = 0;
  broadcast_position* first_ LEAT_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace detail
}  // namespace LEAT
