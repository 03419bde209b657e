#pragma once

#include <cstddef>
#include <cstdint>

namespace leat {

/// A queue without a bound. Say it where you mean it: memory then is the only limit.
inline constexpr std::size_t unbounded = SIZE_MAX;

/// What a queue counts; a consistent picture of one moment. What went in came out, is stored or
/// held: pushed == popped + size + held.
struct queue_statistics {
  std::size_t size = 0;               ///< items stored now
  std::size_t capacity = 0;           ///< items that may be stored; `unbounded` without a limit
  std::size_t min_after_dequeue = 0;  ///< items that stay in while the queue is open
  std::size_t peak_size = 0;          ///< most items ever stored
  std::size_t waiting_pushes = 0;     ///< operations that wait for free capacity now
  std::size_t waiting_pops = 0;       ///< operations that wait for items now
  std::size_t awaited = 0;       ///< items that the first of these takes at a time; 0: nobody waits
  std::size_t held = 0;          ///< items that a waiting batch has and gives back if it ends early
  std::uint64_t pushed = 0;      ///< items that went in since the start
  std::uint64_t popped = 0;      ///< items that came out since the start, and did not come back
  std::uint64_t returned = 0;    ///< items that a batch held and gave back, above the capacity too
  std::uint64_t push_waits = 0;  ///< operations that had to wait for free capacity
  std::uint64_t pop_waits = 0;   ///< operations that had to wait for items
  bool closed = false;           ///< a close has taken effect
  bool weighed = false;          ///< it has a weigher; without one, the rest says nothing
  std::size_t weight = 0;        ///< weight of the items stored now
  std::size_t max_weight = unbounded;  ///< weight that may be stored
  std::size_t peak_weight = 0;         ///< most weight ever stored
  std::size_t returned_weight = 0;     ///< weight that came back with `returned`
  std::size_t entering_weight = 0;     ///< weight of the item that waits first; 0: nobody waits
  bool waits_for_budget = false;       ///< it would fit, but for a budget shared with others
};

}  // namespace leat
