#include "leat/queue/queue_fullness.hpp"

#include <algorithm>

namespace LEAT {

fullness queue_fullness(std::string_view scope, const queue_statistics& s) {
  const std::string begin = std::string(scope) + "/fraction_";
  if (s.capacity == unbounded) return {begin + "of_unbounded_full", 0};
  const std::size_t room = s.capacity - s.min_after_dequeue;
  const std::size_t over = std::min(s.size - std::min(s.size, s.min_after_dequeue), room);
  const std::string minimum =
      s.min_after_dequeue > 0 ? "over_" + std::to_string(s.min_after_dequeue) + "_" : std::string();
  return {begin + minimum + "of_" + std::to_string(room) + "_full",
          static_cast<float>(over) / static_cast<float>(room)};
}

fullness queue_fullness(const queue_base& queue) {
  return queue_fullness(queue.name(), queue.statistics());
}

}  // namespace LEAT
