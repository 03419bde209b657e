// expect: map() and flat_map() require a plain function
#include <optional>

#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"

leat::task<int> fetch(int i);
std::optional<leat::task<int>> fetch_if(int i) {
  return i > 0 ? std::optional(fetch(i)) : std::nullopt;
}
auto declare(leat::fifo_queue<int>& ids) { return leat::read_queue(ids).map("fetch", fetch_if); }
