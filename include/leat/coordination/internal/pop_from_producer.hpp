#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>

#include "leat/async/select.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/coordination/internal/producer_list.hpp"
#include "leat/queue/queue_base.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT::detail {

/// Removes the next item from a queue. There is no time limit, unless the queue's producer was
/// never started, because such a queue stays empty indefinitely. `reader` and `item` are for the
/// message, which begins with "reader 'a': no file name for 60 s".
///
/// Errors:       errors of the queue's pop(); deadline_exceeded if the producer is not started for
///               its start_patience.
/// Cancellation: total; the time limit does not remove an item either.
template <class Item, class Queue>
[[nodiscard]] task<std::optional<Item>> pop_from_producer(Queue& queue, const std::string& reader,
                                                          std::string_view item,
                                                          std::source_location where) {
  if constexpr (std::derived_from<Queue, queue_base>) {
    if (const auto waited_for = find_unstarted_producer(queue)) {
      try {
        co_return co_await with_timeout(queue.pop(where), waited_for->patience, where);
      } catch (const std::system_error& e) {
        if (e.code() != errc::deadline_exceeded || queue.failure_cause()) throw;
      }
      if (const auto unstarted = find_unstarted_producer(queue)) {
        throw unstarted->error(reader + ": no " + std::string(item));
      }
    }
  }
  co_return co_await queue.pop(where);
}

/// Returns the delay before a retry after `failures` consecutive failed calls, two or more.
[[nodiscard]] inline duration pause_after(unsigned failures) noexcept {
  constexpr unsigned most_doublings = 10;
  return std::chrono::milliseconds(1) * (1 << std::min(failures - 2, most_doublings));
}

}  // namespace LEAT::detail

LEAT_LOCAL_TYPES_END
