#include "leat/input/detail/starvation.hpp"

#include <chrono>
#include <string>

#include "leat/input/detail/producer_list.hpp"

namespace leat::detail {

failure starvation_error(const queue_base& queue, std::size_t batch_size, duration patience,
                         const feed_state& by) {
  const queue_statistics s = queue.statistics();
  std::string message = "batcher '" + queue.name() + "': no batch for " +
                        std::to_string(std::chrono::duration<double>(patience).count()) +
                        " s, and " + std::to_string(s.size) + " of the " +
                        std::to_string(batch_size + s.min_after_dequeue) +
                        " elements that it takes: ";
  if (by.operations == 0) {
    message += "nobody feeds it: push elements, and close() it behind the last";
  } else if (!by.started) {
    message += "its sources were never started: call start()";
  } else {
    message += "it waits for its sources" + unstarted_producers_text();
  }
  return {errc::deadline_exceeded, message};
}

void check_patience(const queue_base& queue, duration patience) {
  if (patience > duration::zero()) return;
  throw failure(errc::invalid_argument,
                "batcher '" + queue.name() + "': give a patience above 0, or none");
}

}  // namespace leat::detail
