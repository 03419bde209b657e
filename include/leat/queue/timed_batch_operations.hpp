#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "leat/async/as_tuple.hpp"
#include "leat/async/operation/forms.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/queue/detail/collected_items.hpp"

namespace LEAT {

/// The operations of a queue that remove a batch within a time, for micro-batching: a server
/// collects requests for one call of a model, but delays no request for long.
///
///     while (auto batch = co_await requests.pop_within(64, 20ms)) answer(*batch);
///
/// Waits for the first item without a limit, and from then on at most `time` for the others. A
/// batch has at least one item, and is returned at most `time` after the operation has removed its
/// first item from the queue. Time that the item has spent in the queue does not count.
/// If `count` items are there already, the operation does not wait. With a time of 0 it takes the
/// first item, and the others that are there.
///
/// Returns the items, or an empty optional once the queue is closed and all items have been
/// removed. After the first item, it returns fewer than `count` items if
///
/// - the time has passed,
/// - the queue is closed or has failed; the next call reports that, or
/// - a stop is requested, or another limit expires. So no item is lost.
///
/// Order of service: it waits like pop() for the first item, and then like pop_up_to() for the
/// others. Other consumers may take items in between. The first item of a priority_queue is removed
/// before the others arrive, so a later item of the batch may be smaller.
///
/// The items that it has removed no longer count towards the size and the weight of the queue. They
/// return to the front of the queue if their task is destroyed with its scheduler.
///
/// Errors:       before the first item, the errors of pop_up_to(); std::bad_alloc, without effect.
/// Cancellation: total before the first item; afterwards it returns the items.
/// Cost:         two pops, a timer and, for pop_within(), the frame of a task. If the operation
///               receives its items in several parts, it allocates memory for the later parts and
///               moves their items once more.
///
/// Queue is the queue class, which derives from this class.
template <class Queue, class Item>
class timed_batch_operations {
 public:
  /// Removes up to `count` items within a time, as a task. In a select() it is the operation that
  /// cannot be undone. For a completion token, pass it to async_run().
  [[nodiscard]] task<std::optional<std::vector<Item>>> pop_within(
      std::size_t count, time_span time,
      std::source_location where = std::source_location::current()) {
    return collect(self(), count, time, {}, where);
  }
  /// Overload that reuses the memory of `reused`: see basic_queue::pop_many().
  [[nodiscard]] task<std::optional<std::vector<Item>>> pop_within(
      std::size_t count, time_span time, std::vector<Item>&& reused,
      std::source_location where = std::source_location::current()) {
    reused.clear();
    return collect(self(), count, time, std::move(reused), where);
  }

 private:
  friend Queue;
  timed_batch_operations() = default;

  Queue& self() noexcept { return static_cast<Queue&>(*this); }

  // Reserves the memory of the batch. Errors: as those of a pop_up_to() of all items.
  template <class Part>
  static auto prepare(Queue& q, std::size_t count, std::vector<Item>&& memory) {
    q.throw_if_impossible(count);
    Part all(&q, count, std::move(memory));
    static_cast<void>(all.prepare());
    return std::move(all.batch);
  }

  // Adds the items that are there, up to `count` in all.
  template <class Part>
  static void add_available(Queue& q, std::size_t count,
                            detail::collected_items<typename Part::batch_type>& items) {
    if (items.size() < count) items.add(q.try_batch(Part(&q, count - items.size())));
  }

  static task<std::optional<std::vector<Item>>> collect(Queue& q, std::size_t count, time_span time,
                                                        std::vector<Item> memory,
                                                        std::source_location where) {
    using part = detail::pop_part_operation<typename Queue::pop_up_to_operation>;
    if (count == 0) co_return std::move(memory);
    detail::collected_items items(q, prepare<part>(q, count, std::move(memory)));
    std::optional<typename part::batch_type> some =
        co_await await_operation<part>(where, &q, std::size_t{1});
    if (!some) co_return std::nullopt;
    const time_point end = deadline_after(scheduler::current()->now(), time);
    items.add(std::move(some));
    add_available<part>(q, count, items);
    if (items.size() < count) {
      auto more = await_operation<part>(where, &q, count - items.size());
      auto rest = co_await as_tuple(with_deadline(std::move(more), end, where));
      items.add(std::move(rest.value));
      if (rest.error)
        add_available<part>(q, count, items);  // the pop has returned its items to the queue
    }
    co_return std::move(items).take();
  }
};

}  // namespace LEAT
