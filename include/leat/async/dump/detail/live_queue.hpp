#pragma once

#include <cstdint>

namespace leat::detail {

struct queue_state;

/// Places a queue in the list of all queues of the process, which dump() prints.
///
/// The queue calls add() at the end of its constructor and remove() at the beginning of its
/// destructor. remove() waits for a dump that is walking the list, so a dump reads no queue that is
/// gone. No operation of the queue touches its entry.
class live_queue {
 public:
  enum class access : std::uint8_t {
    as_owner,  ///< only if the calling thread owns the queue's lock
    any,
  };
  /// Fills in the state of a queue. Returns false, without effect, if access was not granted.
  /// Errors: std::bad_alloc.
  using reporter = bool (*)(const void* queue, access how, queue_state& state);

  live_queue(const void* queue, reporter r) noexcept : queue_(queue), reporter_(r) {}
  live_queue(const live_queue&) = delete;
  live_queue& operator=(const live_queue&) = delete;

  void add() noexcept;
  void remove() noexcept;

  /// Returns the number of the queue, which add() assigns. Numbers repeat after 2^32 queues.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(number_);
  }

  /// Returns true if the queue at this address still has this number. Called when an operation that
  /// waited on a queue ends. Cost: O(queues).
  [[nodiscard]] static bool is_alive(const void* queue, std::uint32_t number) noexcept;

 private:
  friend class live_queues;

  const void* const queue_;
  const reporter reporter_;
  std::uint64_t number_ = 0;  // counts the queues that were ever made
  live_queue* previous_ = nullptr;
  live_queue* following_ = nullptr;
};

}  // namespace leat::detail
