#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include "leat/base/detail/thread_mutex.hpp"
#include "leat/queue/queue_options.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "leat/tensor/element_spec.hpp"

namespace leat {
namespace detail {

/// A shared queue of any kind, and what it is to be recognised by.
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

  /// Nothing if `wanted` can be the same queue. Errors: invalid_argument, which names what differs.
  void check(const registered_queue& wanted) const;

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const std::shared_ptr<void>& object() const noexcept { return object_; }

 private:
  const char* kind_;
  std::type_index item_;
  std::type_index queue_;
  shuffle_options options_;
  const element_spec* spec_;  // of the object, or none
  std::shared_ptr<void> object_;
};

inline shuffle_options comparable(const shuffle_options& o) { return o; }
inline shuffle_options comparable(const queue_options& o) {
  return {.capacity = o.capacity, .name = o.name, .max_weight = o.max_weight, .budget = o.budget};
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

/// Queues that are shared by name: who asks for one makes it, who asks for it again gets the same.
///
///     leat::queue_registry shared;
///     auto jobs = shared.get<leat::fifo_queue<job>>({.capacity = 64, .name = "jobs"});
///     ...                                                         // elsewhere, the same queue:
///     auto same = shared.get<leat::fifo_queue<job>>({.capacity = 64, .name = "jobs"});
///     auto rows = shared.get<leat::padding_fifo_queue>(spec, {.capacity = 64, .name = "rows"});
///
/// Where a queue can be passed as an object there is no need of a name. A name is shared among
/// those who have the same registry; there is no global one.
///
/// Who asks for a queue that exists must ask for the same: kind, item type, capacity, max_weight,
/// budget, min_after_dequeue, seed, and the types of comparison and weigher. A seed may be left
/// out: then any will do. Of a queue of tensors the types and names of the components must be the
/// same, and the shapes of one rank, or of none; a dimension that one of them does not know may be
/// any. What goes in and comes out is up to the spec of who came first: spec() tells it.
///
/// A queue lives as long as the registry or anybody else holds it. Once closed it stays closed:
/// erase() makes its name free for a fresh one.
///
/// Thread safety: thread-safe. Cost: a lock and a look-up; meant for the beginning of a program.
/// TensorFlow: shared_name.
class queue_registry {
 public:
  queue_registry() = default;
  queue_registry(const queue_registry&) = delete;
  queue_registry& operator=(const queue_registry&) = delete;

  /// The queue of the name in the options; makes it, with these options and what else its
  /// constructor takes, if there is none. With another queue of that name nothing has changed.
  ///
  /// Errors: invalid_argument for an empty name, and for a queue that differs, which is named; what
  ///         the queue's constructor throws.
  template <class Queue, class... Arguments>
  [[nodiscard]] std::shared_ptr<Queue> get(const typename Queue::options_type& options,
                                           Arguments&&... arguments) {
    return same_or(options,
                   std::make_shared<Queue>(options, std::forward<Arguments>(arguments)...));
  }

  /// The same of a queue of tensors: a padding_fifo_queue, a tensor_priority_queue, or a
  /// tensor_queue around another.
  template <detail::queue_with_spec Queue, class... Arguments>
  [[nodiscard]] std::shared_ptr<Queue> get(const element_spec& spec,
                                           const typename Queue::options_type& options,
                                           Arguments&&... arguments) {
    return same_or(options,
                   std::make_shared<Queue>(spec, options, std::forward<Arguments>(arguments)...));
  }

  /// Forgets a queue; who holds it keeps it. False: there is none of that name.
  bool erase(const std::string& name);

  /// Forgets all of them.
  void clear();

  /// How many there are.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  // `fresh` was made before it is known whether it is needed: no foreign code may run under the
  // lock.
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

}  // namespace leat
