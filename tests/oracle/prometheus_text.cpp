// Writes the prometheus_text() of some stages and queues, for prometheus_text.py.

#include <chrono>
#include <iostream>

#include "leat/input/batcher.hpp"
#include "leat/pipeline/metrics/prometheus_text.hpp"

namespace {

using namespace std::chrono_literals;

struct by_size {
  std::size_t operator()(const std::string& s) const { return s.size(); }
};

}  // namespace

int main() {
  leat::stage_metrics readers("readers");
  leat::stage_metrics odd("back\\slash \"quoted\"\nline, {brace} = stra\xC3\x9F e");
  leat::stage_metrics same("readers");
  readers.add_task();
  readers.add(1'000'000'000'000, UINT64_MAX);
  readers.add_input_wait(1h + 1ns);
  odd.add_output_wait(1500ms);

  leat::shuffle_batcher<int> batches({.batch_size = 2, .capacity = 32, .min_after_dequeue = 10});
  leat::fifo_queue<std::string, by_size> lines({.capacity = leat::unbounded, .max_weight = 1000});
  for (int i = 0; i < 17; ++i) {
    if (!batches.queue().try_push(int{i}) || !lines.try_push(std::to_string(i))) return 1;
  }
  lines.close();

  const leat::stage_metrics* const stages[] = {&readers, &odd, &same};
  const leat::queue_base* const queues[] = {&batches.queue(), &lines};
  std::cout << leat::prometheus_text(stages, queues);
}
