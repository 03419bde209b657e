#include "leat/pipeline/stage/detail/parallel_map_tasks.hpp"

#include <optional>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

// Blocks of the input pass through lanes, each of which is a queue `in`, workers, and a queue
// `out`. If the order is deterministic, each worker has a lane of its own. distribute() fills the
// lanes in turn and next() empties them in the same turn, so the results have the order of the
// input, and the first lane without a block has reached the end for all. Otherwise there is one
// lane, which all workers share.
//
// At most 2 * workers blocks of the input are in queues, each worker has one, and distribute() has
// one: the recycler has a slot for each of them.

parallel_map_tasks::parallel_map_tasks(mapped_input& stage, stage_metrics& metrics,
                                       std::size_t workers, ordering order)
    : stage_(stage),
      metrics_(metrics),
      workers_(workers),
      order_(order),
      recycler_(3 * workers + 1),
      throttle_(metrics.name(), true) {
  metrics.set_capacity(2 * workers);
}

parallel_map_tasks::~parallel_map_tasks() = default;

void parallel_map_tasks::start(pipeline_context& context) {
  const bool ordered = order_ == ordering::deterministic;
  const std::size_t lanes = ordered ? workers_ : 1;
  const std::size_t capacity = 2 * workers_ / lanes;
  for (std::size_t i = 0; i < lanes; ++i) {
    lanes_.push_back(std::make_unique<lane>(metrics_.name(), capacity, workers_ / lanes));
  }
  stage_.start_input(context);
  throttle_.begin(context.memory());
  context.spawn(distribute(), metrics_, "input");
  for (std::size_t i = 0; i < workers_; ++i) {
    metrics_.add_task();
    context.spawn_worker(work(*lanes_[i % lanes]), metrics_, i);
  }
}

task<bool> parallel_map_tasks::next(void* block) {
  bool has_some = stage_.begin_output(block, error_);
  while (!has_some) {
    if (error_) std::rethrow_exception(error_);
    std::optional<work_result> m = co_await lanes_[taken_]->out.pop();
    if (!m) co_return false;
    metrics_.add_held(-1);
    throttle_.leave(m->block->counted);
    taken_ = (taken_ + 1) % lanes_.size();
    error_ = m->error;
    has_some = stage_.take_output(block, *m->block, error_ != nullptr, std::move(m->counts));
  }
  co_return true;
}

// An error of the input reaches the consumer after all earlier elements.
task<void> parallel_map_tasks::distribute() {
  std::exception_ptr error;
  std::size_t next = 0;
  try {
    for (;;) {
      while (!throttle_.has_space()) co_await throttle_.wait();
      block_ptr block = recycler_.take();
      if (!block) block = stage_.make_input_block();
      const bool more = co_await stage_.read(*block);
      if (!more) break;
      block->counted = throttle_.limited() ? throttle_.enter(block->memory()) : 0;
      const bool taken = co_await lanes_[next]->in.push(std::move(block));
      if (!taken) break;
      next = (next + 1) % lanes_.size();
    }
  } catch (...) {
    error = std::current_exception();
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    end_queue(lanes_[(next + i) % lanes_.size()]->in, error);
  }
}

// An error of the function follows its results. An error of the input follows after all workers
// of the lane have ended.
task<void> parallel_map_tasks::work(lane& l) {
  const stage_work_timer here(metrics_, *scheduler::current());
  element_pace pace;
  try {
    for (bool more = true; more;) {
      work_result m;
      m.block = stage_.make_output_block();  // before it has elements that would be lost
      std::optional<block_ptr> in = co_await pop(l);
      if (!in) break;
      const std::size_t counted = (*in)->counted;
      const std::size_t input = throttle_.limited() ? (*in)->memory() : 0;
      m.error = co_await stage_.apply(**in, *m.block, m.counts, pace);
      recycler_.give_back(std::move(*in));
      more = !m.error;
      m.block->counted =
          throttle_.limited() ? throttle_.change(counted, input, m.block->memory()) : 0;
      m.block->count_in(metrics_);
      const stage_wait_timer w(metrics_, *scheduler::current(), stage_wait_timer::for_output);
      const bool taken = co_await l.out.push(std::move(m));
      if (!taken) break;
      metrics_.add_held(1);
    }
  } catch (...) {
    l.in.fail(std::current_exception());
  }
  // The last worker ends `out`. Each worker counts down after its last push, so every result
  // precedes the end.
  if (--l.live == 0) end_queue(l.out, l.in.failure_cause());
}

task<std::optional<parallel_map_tasks::block_ptr>> parallel_map_tasks::pop(lane& l) {
  const stage_wait_timer w(metrics_, *scheduler::current(), stage_wait_timer::for_input);
  co_return co_await l.in.pop();
}

}  // namespace LEAT::detail
