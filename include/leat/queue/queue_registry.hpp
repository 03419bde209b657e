#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include "leat/base/internal/thread_mutex.hpp"
#include "leat/queue/queue_options.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "leat/tensor/element_spec.hpp"

namespace LEAT {
namespace detail {

/// A shared queue of any kind, with the properties that get() compares.
class registered_queue {
 public:
  registered_queue(const char* kind, std::type_index item, std::type_index queue,
                   shuffle_options options, const element_spec* spec, std::shared_ptr<void> object)
      : kind_(kind),
        item_(item),
        queue_(queue),
        options_(std::move(options)),
        spec_(spec),
        object_(std::move(object)) {}

  /// Checks that `wanted` can be the same queue. Errors: invalid_argument; the message names the
  /// difference.
  void check(const registered_queue& wanted) const;

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const std::shared_ptr<void>& object() const noexcept { return object_; }

 private:
  const char* kind_;
  std::type_index item_;
  std::type_index queue_;
  shuffle_options options_;
  const element_spec* spec_;  // of the object, or null
  std::shared_ptr<void> object_;
};

inline shuffle_options comparable(const shuffle_options& o) { return o; }
inline shuffle_options comparable(const queue_options& o) {
  return {.capacity = o.capacity, .max_weight = o.max_weight, .budget = o.budget, .name = o.name};
}

template <class Queue>
concept queue_with_spec = requires(const Queue& q) {
  { q.spec() } -> std::same_as<const element_spec&>;
};

template <class Queue>
const element_spec* spec_of(const Queue& q) {
  if constexpr (queue_with_spec<Queue>) {
    return &q.spec();
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// A set of queues that are shared by name. The first get() of a name adds a queue; later calls
/// with the same name return the same queue.
///
///     leat::queue_registry shared;
///     auto jobs = shared.get<leat::fifo_queue<job>>({.capacity = 64, .name = "jobs"});
///     ...                                                         // elsewhere, the same queue:
///     auto same = shared.get<leat::fifo_queue<job>>({.capacity = 64, .name = "jobs"});
///     auto rows = shared.get<leat::padding_fifo_queue>(spec, {.capacity = 64, .name = "rows"});
///
/// If you can pass a queue as an object, you need no name. Names are local to a registry, and there
/// is no global registry.
///
/// A get() of an existing queue must describe the same queue. All of these must be equal:
///
/// - the kind, the item type, and the types of the comparison and the weight function;
/// - capacity, max_weight, budget and min_after_dequeue;
/// - the seed, if the later call sets one;
/// - for a queue of tensors, the types, names, ranks and dimensions of the components. An unknown
///   rank equals only an unknown rank; an unknown dimension matches any dimension.
///
/// The queue uses the spec of the first get(), which spec() returns.
///
/// Lifetime: a queue lives as long as the registry or another owner holds it. A closed queue stays
/// closed; erase() frees its name for a new queue.
///
/// Thread safety: thread-safe.
/// Cost: get() creates a queue, takes a lock and looks up the name, and drops the new queue if the
/// name exists. It is meant for the start of a program.
/// TensorFlow: shared_name.
class queue_registry {
 public:
  queue_registry() = default;
  queue_registry(const queue_registry&) = delete;
  queue_registry& operator=(const queue_registry&) = delete;

  /// Returns the queue with the name in the options. If there is none, adds a queue that is created
  /// from these options and the further arguments of its constructor.
  ///
  /// Errors: invalid_argument for an empty name, or if the existing queue differs. The message
  ///         names the difference, and the registry does not change. Also the errors of the queue's
  ///         constructor.
  template <class Queue, class... Arguments>
  [[nodiscard]] std::shared_ptr<Queue> get(const typename Queue::options_type& options,
                                           Arguments&&... arguments) {
    return same_or(options,
                   std::make_shared<Queue>(options, std::forward<Arguments>(arguments)...));
  }

  /// Overload for a queue of tensors: a padding_fifo_queue, a tensor_priority_queue or any other
  /// tensor_queue.
  template <detail::queue_with_spec Queue, class... Arguments>
  [[nodiscard]] std::shared_ptr<Queue> get(const element_spec& spec,
                                           const typename Queue::options_type& options,
                                           Arguments&&... arguments) {
    return same_or(options,
                   std::make_shared<Queue>(spec, options, std::forward<Arguments>(arguments)...));
  }

  /// Removes a queue from the registry; its other owners keep it. Returns false if there is no
  /// queue of that name.
  bool erase(const std::string& name);

  /// Removes all queues from the registry.
  void clear();

  /// Returns the number of queues.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  // `fresh` was created before the look-up, even if it is not needed, because no user code may run
  // under the lock.
  template <class Queue>
  std::shared_ptr<Queue> same_or(const typename Queue::options_type& options,
                                 std::shared_ptr<Queue> fresh) {
    const element_spec* const spec = detail::spec_of(*fresh);
    return std::static_pointer_cast<Queue>(
        get({Queue::kind, typeid(typename Queue::value_type), typeid(Queue),
             detail::comparable(options), spec, std::move(fresh)}));
  }
  std::shared_ptr<void> get(detail::registered_queue wanted);

  mutable detail::thread_mutex mutex_;
  std::unordered_map<std::string, detail::registered_queue> queues_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace LEAT
