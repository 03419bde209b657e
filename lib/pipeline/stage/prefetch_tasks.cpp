#include "leat/pipeline/stage/detail/prefetch_tasks.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

prefetch_tasks::prefetch_tasks(prefetched_input& input, stage_metrics& metrics, std::size_t blocks,
                               bool on_worker)
    : input_(input),
      metrics_(metrics),
      queue_(blocks, metrics.name()),
      throttle_(metrics.name(), false),
      recycler_(blocks + 2),  // those in the queue, in fill() and in next()
      on_worker_(on_worker) {
  metrics.set_capacity(blocks);
}

prefetch_tasks::~prefetch_tasks() = default;

void prefetch_tasks::start(pipeline_context& context) {
  throttle_.begin(context.memory());
  if (on_worker_) {
    context.spawn_worker(fill(), metrics_, 0);
  } else {
    context.spawn(fill(), metrics_, "input");
  }
}

task<bool> prefetch_tasks::next(void* block) {
  std::optional<std::unique_ptr<any_block>> made = co_await queue_.pop();
  if (!made) co_return false;
  metrics_.add_held(-1);
  throttle_.leave((*made)->counted);
  (*made)->swap_with(block);
  recycler_.give_back(std::move(*made));
  co_return true;
}

task<void> prefetch_tasks::wait_for_memory() {
  const stage_wait_timer w(metrics_, *scheduler::current(), stage_wait_timer::for_output);
  while (!throttle_.has_space()) co_await throttle_.wait();
}

task<void> prefetch_tasks::fill() {
  const stage_work_timer here(metrics_, *scheduler::current());
  std::exception_ptr error;
  try {
    for (std::uint64_t number = 0;; ++number) {
      // The stages on a worker are not saved, and the consumer's forget() must not reach them from
      // its thread, so no position is kept.
      if (on_worker_) input_.forget_input(number);
      if (!throttle_.has_space()) co_await wait_for_memory();
      std::unique_ptr<any_block> block = recycler_.take();
      if (!block) block = input_.make_block();
      const bool more = co_await input_.read(*block);
      if (!more) break;
      block->count_in(metrics_);
      block->counted = throttle_.limited() ? throttle_.enter(block->memory()) : 0;
      const stage_wait_timer w(metrics_, *scheduler::current(), stage_wait_timer::for_output);
      const bool taken = co_await queue_.push(std::move(block));
      if (!taken) break;
      metrics_.add_held(1);
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (on_worker_) input_.destroy_input();  // here, since its readers belong to this scheduler
  end_queue(queue_, error);
}

}  // namespace LEAT::detail
