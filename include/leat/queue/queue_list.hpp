#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/tensor/element_spec.hpp"

namespace leat {

/// Several queues of one kind, of which a number known at run time chooses.
///
///     leat::queue_list shards(std::vector{&first, &second});
///     co_await shards.at(key % 2).push(std::move(item));
///
/// Of queues with specs the types and names of the components must be equal; shapes, names and
/// capacities of the queues may differ. Kinds may not, as they may in TensorFlow: an operation is
/// compiled for its kind of queue.
///
/// The queues must outlive it. A value type. Thread safety: thread-compatible, thread-safe for
/// reading. TensorFlow: QueueBase.from_list.
template <class Queue>
class queue_list {
 public:
  /// Errors: invalid_argument without a queue, for a null pointer, or for components that differ.
  explicit queue_list(std::vector<Queue*> queues) : queues_(std::move(queues)) {
    if (queues_.empty()) {
      throw failure(errc::invalid_argument, "a list of queues has one queue or more");
    }
    for (Queue* const q : queues_) {
      if (!q) throw failure(errc::invalid_argument, "a list of queues: one of them is null");
    }
    if constexpr (has_specs) static_cast<void>(spec());
  }

  [[nodiscard]] std::size_t count() const noexcept { return queues_.size(); }

  /// The queue chosen, with all its operations. Errors: invalid_argument.
  [[nodiscard]] Queue& at(std::int64_t index) const {
    if (index >= 0 && static_cast<std::uint64_t>(index) < queues_.size()) {
      return *queues_[static_cast<std::size_t>(index)];
    }
    throw failure(errc::invalid_argument, "a list of queues: index " + std::to_string(index) +
                                              " is not in [0, " + std::to_string(count()) + ")");
  }

  /// What elements of any of the queues have in common: what differs in their shapes is unknown.
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

}  // namespace leat
