#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/tensor/element_spec.hpp"

namespace LEAT {

/// A list of queues of one kind, one of which is chosen by an index at run time.
///
///     leat::queue_list shards(std::vector{&first, &second});
///     co_await shards.at(key % 2).push(std::move(item));
///
/// If the queues have specs, the types and names of the components must be equal. Shapes, and the
/// names and capacities of the queues, may differ. The list is a value type, and the queues must
/// outlive it.
///
/// Thread safety: thread-compatible; thread-safe for reading.
/// TensorFlow: QueueBase.from_list. Differs from TensorFlow: the queues must be of one kind,
/// because an operation is compiled for its kind of queue.
template <class Queue>
class queue_list {
 public:
  /// Creates a list of these queues.
  ///
  /// Errors: invalid_argument if there is no queue, if a pointer is null, or if components differ.
  explicit queue_list(std::vector<Queue*> queues) : queues_(std::move(queues)) {
    if (queues_.empty()) {
      throw failure(errc::invalid_argument, "queue_list: list is empty: pass at least one queue");
    }
    for (Queue* const q : queues_) {
      if (!q)
        throw failure(errc::invalid_argument, "queue_list: queue is null: pass existing queues");
    }
    if constexpr (has_specs) static_cast<void>(spec());
  }

  /// Returns the number of queues.
  [[nodiscard]] std::size_t count() const noexcept { return queues_.size(); }

  /// Returns the queue with this index. Errors: invalid_argument for an index out of range.
  [[nodiscard]] Queue& at(std::int64_t index) const {
    if (index >= 0 && static_cast<std::uint64_t>(index) < queues_.size()) {
      return *queues_[static_cast<std::size_t>(index)];
    }
    throw failure(errc::invalid_argument, "queue_list: index is " + std::to_string(index) +
                                              ", must be less than the number of queues, " +
                                              std::to_string(count()));
  }

  /// Returns a spec that the elements of all queues match: where their shapes differ, the rank or
  /// the dimension is unknown.
  [[nodiscard]] element_spec spec() const
    requires requires(const Queue& q) { q.spec(); }
  {
    element_spec common = queues_.front()->spec();
    for (const Queue* const q : queues_) common = generalize_specs(common, q->spec());
    return common;
  }

 private:
  static constexpr bool has_specs = requires(const Queue& q) { q.spec(); };

  std::vector<Queue*> queues_;
};

}  // namespace LEAT
