#include "leat/input/detail/starvation.hpp"

#include <string>

#include "base/text/seconds_text.hpp"
#include "leat/coordination/internal/producer_list.hpp"

namespace LEAT::detail {

failure starvation_error(const queue_base& queue, std::size_t batch_size, duration patience,
                         const feed_state& by) {
  const queue_statistics s = queue.statistics();
  std::string message = "batcher '" + queue.name() + "': no batch for " + seconds_text(patience) +
                        " s, the queue has " + std::to_string(s.size) + " of the " +
                        std::to_string(batch_size + s.min_after_dequeue) + " required elements: ";
  if (by.operations == 0) {
    message += "no source was added; call add(), or push elements and call close()";
  } else if (!by.started) {
    message += "start() was never called";
  } else {
    message += "sources have not delivered enough" + unstarted_producers_text();
  }
  return {errc::deadline_exceeded, message};
}

void check_patience(const queue_base& queue, duration patience) {
  if (patience > duration::zero()) return;
  throw failure(errc::invalid_argument,
                "batcher '" + queue.name() +
                    "': patience must be above 0: set a longer time, or leave it unset");
}

}  // namespace LEAT::detail
