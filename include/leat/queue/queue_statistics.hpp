#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The capacity of a queue without a limit: such a queue grows until memory is exhausted.
inline constexpr std::size_t unbounded = SIZE_MAX;

/// A consistent snapshot of a queue's counters. Every added item has been removed, is stored or is
/// held: pushed == popped + size + held.
struct queue_statistics {
  std::size_t size = 0;               ///< items stored now
  std::size_t capacity = 0;           ///< maximum number of stored items, or `unbounded`
  std::size_t min_after_dequeue = 0;  ///< items that pops leave in an open queue; 0 once closed
  std::size_t peak_size = 0;          ///< most items stored so far, including returned ones
  std::size_t waiting_pushes = 0;     ///< operations that wait for free capacity now
  std::size_t waiting_pops = 0;       ///< operations that wait for items now
  std::size_t awaited = 0;            ///< items that the first waiting pop takes at a time, or 0
  std::size_t held = 0;              ///< items that a waiting batch or a provisional pop may return
  std::size_t provisional_pops = 0;  ///< pops that have items and are not final yet
  std::uint64_t pushed = 0;          ///< items added so far
  std::uint64_t popped = 0;          ///< items removed so far, without those that were returned
  std::uint64_t returned = 0;        ///< items that pops have returned, even above the capacity
  std::uint64_t push_waits = 0;      ///< operations that had to wait for free capacity
  std::uint64_t pop_waits = 0;       ///< operations that had to wait for items
  std::uint64_t refused = 0;         ///< items not added because the queue was closed or had failed
  bool closed = false;               ///< a close has taken effect
  bool weighed = false;    ///< the queue has a weight function; if not, ignore the following
  std::size_t weight = 0;  ///< weight of the items stored now
  std::size_t max_weight = unbounded;  ///< maximum weight of the stored items
  std::size_t peak_weight = 0;         ///< largest weight so far, including returned items
  std::size_t returned_weight = 0;     ///< weight of the items in `returned`
  std::size_t entering_weight = 0;     ///< weight of the first item that waits for weight, or 0
  bool waits_for_budget = false;       ///< that item fits into the queue and waits for the budget
};

}  // namespace LEAT
