#include "leat/pipeline/stage/detail/pipeline_core.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/scheduler/scheduler.hpp"

namespace LEAT::detail {

// A pipeline that has started ends by end(): at the end of the input, after an error, or by stop().
// The exception is its destruction while it runs: see pipeline_context::abandon(). end() joins the
// tasks of the stages before it reads their positions, so no stage moves meanwhile. From then on
// the pipeline has no stages, and `end_` is its state, unless `save_error_` contains the reason why
// there is none.

pipeline_core::pipeline_core(pimpl<pipeline_context> context) noexcept
    : context_(std::move(context)) {}

void pipeline_core::start(prefetch_adder add_prefetch) {
  // Input that cannot arrive can then be left waiting. Without this stage, the consumer would wait
  // for it in its own task, which the stop of the watchdog does not reach.
  if (context_->options().patience) add_prefetch(*this, context_->watched());
  context_->start();
  last()->start(*context_);
}

task<bool> pipeline_core::read(prefetch_adder add_prefetch) {
  if (ended_) co_return false;
  std::exception_ptr error;
  const bool has_some = has_elements();  // then it is only the turn of others
  bool keeps = has_some;
  try {
    if (!has_some) clear_block();
    // No save needs the positions of blocks that the consumer has passed.
    last()->forget(position().block);
    // If it fails halfway, the code below ends the tasks that it has started.
    if (!context_->has_started()) start(add_prefetch);
    const stage_wait_timer w(context_->consumer(), *scheduler::current(),
                             stage_wait_timer::for_input);
    if (is_turn_over()) co_await yield_turn("pipeline");
    bool more = has_some;
    if (!has_some) {
      more = co_await begin_block();
      if (more) end_block();
    }
    if (more) {
      if (!context_->must_stop_now()) co_return true;
      keeps = true;  // the state is that before them
      co_await context_->stop_before_element();
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (!keeps) clear_block();
  for (int attempt = 0; !ended_; ++attempt) {  // as in for_each()
    try {
      co_await end();
    } catch (const std::bad_alloc&) {
      if (attempt > 0) throw;
    }
  }
  if (const auto reason = context_->find_cause(error)) std::rethrow_exception(reason);
  co_return false;
}

task<void> pipeline_core::stop_core() {
  const exclusive_use::guard guard(in_use_);
  co_await end();
}

std::string pipeline_core::save_core() const {
  context().require_savable(last() ? last()->save_error() : save_error_);
  return last() ? state() : end_;
}

task<void> pipeline_core::restore_core(std::vector<std::string> states, state_matcher choose) {
  const exclusive_use::guard guard(in_use_);
  if (context_->has_started() || ended_) {
    context_->require_savable("it has already started; restore it before the first next()");
  }
  context_->require_savable(last()->save_error());
  const std::vector<any_stage*> all = chain();
  const auto rewind = [&all] {
    for (any_stage* s : all) s->rewind();
  };
  rewind();
  restart_block();
  std::vector<any_stage*> with_state;
  std::vector<saved_stage> declared;
  for (any_stage* s : all) {
    saved_stage d = s->describe();
    if (d.kind.empty()) continue;
    with_state.push_back(s);
    declared.push_back(std::move(d));
  }
  // Reads and checks the states of all stages before any stage changes. If a stage fails after
  // that, all return to the beginning: a pipeline is never restored in part.
  const stage_states saved = choose(states, declared, context_->options().name);
  try {
    for (std::size_t i = 0; i < saved.size(); ++i) co_await with_state[i]->restore(*saved[i]);
  } catch (...) {
    rewind();
    rethrow_input_error(context_->options().name);
  }
}

std::vector<any_stage*> pipeline_core::chain() const {
  std::vector<any_stage*> all;
  for (any_stage* s = last(); s; s = s->previous()) all.push_back(s);
  std::ranges::reverse(all);
  return all;
}

task<void> pipeline_core::end() {
  if (ended_) co_return;
  co_await context_->stop();
  ended_ = true;  // not before: who had no memory to wait for the tasks tries again
  try {
    save_error_ = last()->save_error();
    if (save_error_.empty()) end_ = state();
  } catch (const std::bad_alloc&) {
    save_error_ = "out of memory";
  }
  clear_block();
  remove_last();  // here, since readers belong to this scheduler
}

// From the last stage back, since each stage knows the position in its input.
std::string pipeline_core::state() const {
  std::vector<saved_stage> saved;
  batch_numbers batches;
  block_position before = position();
  for (const any_stage* s = last(); s; s = s->previous()) {
    saved_stage one = s->describe();
    before = s->save(before, batches, one.own);
    if (!one.kind.empty()) saved.push_back(std::move(one));
  }
  std::ranges::reverse(saved);
  return stages_to_bytes(saved);
}

}  // namespace LEAT::detail
