#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/detail/block_recycler.hpp"
#include "leat/pipeline/stage/detail/apply.hpp"
#include "leat/pipeline/stage/detail/applying_stage.hpp"
#include "leat/pipeline/stage/detail/prefetch_throttle.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace leat::detail {

/// Applies a function to each element, in the task that calls next().
template <arity How, class In, class Out>
class map_stage final : public applying_stage<How, In, Out> {
 public:
  using applying_stage<How, In, Out>::applying_stage;

  task<bool> next(std::vector<Out>& block) override {
    const stage_work_timer here = this->working();
    block.clear();
    this->begin_block();
    if (const auto error = this->take_unfinished(block)) error_ = error;
    while (block.empty()) {
      if (error_) std::rethrow_exception(error_);
      const bool more = co_await this->pull(this->input(), in_);
      if (!more) co_return false;
      arity_counts counts;
      error_ = this->make(in_, block, counts);
      this->record_output(block.size(), error_ != nullptr, std::move(counts));
    }
    count_block(this->metrics(), block);
    co_return true;
  }

 private:
  In in_;
  std::exception_ptr error_;  // for the next call
};

/// Like map_stage, but in several tasks. One more task distributes the blocks of the stage before.
///
/// With ordering::deterministic, block k goes to worker k modulo workers, through queues of that
/// worker, and is taken from there, so the order does not depend on speed. Otherwise all workers
/// share one queue on each side.
template <arity How, class In, class Out>
class parallel_map_stage final : public applying_stage<How, In, Out> {
 public:
  using base = applying_stage<How, In, Out>;

  parallel_map_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics,
                     typename base::function f, std::size_t workers, ordering order)
      : base(std::move(input), metrics, std::move(f), order == ordering::deterministic),
        workers_(workers),
        order_(order),
        recycler_(3 * workers + 1),
        throttle_(metrics.name(), true) {
    metrics.set_capacity(2 * workers);
  }

  void start(pipeline_context& context) override {
    const bool ordered = order_ == ordering::deterministic;
    const std::size_t lanes = ordered ? workers_ : 1;
    const std::size_t capacity = 2 * workers_ / lanes;
    for (std::size_t i = 0; i < lanes; ++i) {
      lanes_.push_back(std::make_unique<lane>(this->metrics().name(), capacity, workers_ / lanes));
    }
    this->input().start(context);
    throttle_.begin(context.memory());
    context.spawn(distribute(), this->metrics(), "input");
    for (std::size_t i = 0; i < workers_; ++i) {
      this->metrics().add_task();
      context.spawn_worker(work(*lanes_[i % lanes]), this->metrics(), i);
    }
  }

  task<bool> next(std::vector<Out>& block) override {
    block.clear();
    this->begin_block();
    if (const auto error = this->take_unfinished(block)) error_ = error;
    if (!block.empty()) count_block(this->metrics(), block);  // otherwise a worker counts it
    while (block.empty()) {
      if (error_) std::rethrow_exception(error_);
      std::optional<work_result> m = co_await lanes_[taken_]->out.pop();
      if (!m) co_return false;
      this->metrics().add_held(-1);
      throttle_.leave(m->bytes);
      taken_ = (taken_ + 1) % lanes_.size();
      block = std::move(m->block);
      error_ = m->error;
      this->record_output(block.size(), error_ != nullptr, std::move(m->counts));
    }
    co_return true;
  }

  bool has_tasks() const noexcept override { return true; }
  std::string save_error() const override {
    if (order_ == ordering::deterministic) return base::save_error();
    return "stage '" + this->metrics().name() +
           "' does not keep the order of the input; set ordering::deterministic";
  }

 private:
  // A block of the input, and the bytes that count for it.
  struct work_unit {
    In block;
    std::size_t bytes = 0;
  };
  // The elements made of one block of the input, and the error after them.
  struct work_result {
    std::vector<Out> block;
    std::exception_ptr error;
    arity_counts counts;
    std::size_t bytes = 0;
  };
  struct lane {
    lane(const std::string& name, std::size_t capacity, std::size_t live_workers)
        : in(capacity, name + " in"), out(capacity, name + " out"), live(live_workers) {}
    fifo_queue<work_unit> in;
    fifo_queue<work_result> out;
    std::atomic<std::size_t> live;  // workers
  };

  // An error of the input reaches the consumer after all earlier elements.
  task<void> distribute() {
    std::exception_ptr error;
    std::size_t next = 0;
    try {
      for (;;) {
        while (!throttle_.has_space()) co_await throttle_.wait();
        In block = recycler_.take();
        const bool more = co_await this->input().next(block);
        if (!more) break;
        const std::size_t bytes = throttle_.limited() ? throttle_.enter(memory_of(block)) : 0;
        work_unit d{std::move(block), bytes};
        const bool taken = co_await lanes_[next]->in.push(std::move(d));
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
  task<void> work(lane& l) {
    const stage_work_timer here = this->working();
    try {
      for (bool more = true; more;) {
        std::optional<work_unit> in = co_await pop(l);
        if (!in) break;
        work_result m;
        const std::size_t input = throttle_.limited() ? memory_of(in->block) : 0;
        m.error = this->make(in->block, m.block, m.counts);
        recycler_.give_back(std::move(in->block));
        more = !m.error;
        if (throttle_.limited()) m.bytes = throttle_.change(in->bytes, input, memory_of(m.block));
        count_block(this->metrics(), m.block);
        const stage_wait_timer w = this->waits(stage_wait_timer::for_output);
        const bool taken = co_await l.out.push(std::move(m));
        if (!taken) break;
        this->metrics().add_held(1);
      }
    } catch (...) {
      l.in.fail(std::current_exception());
    }
    if (--l.live == 0) end_queue(l.out, l.in.failure_cause());
  }

  task<std::optional<work_unit>> pop(lane& l) {
    const stage_wait_timer w = this->waits(stage_wait_timer::for_input);
    co_return co_await l.in.pop();
  }

  const std::size_t workers_;
  const ordering order_;
  std::vector<std::unique_ptr<lane>> lanes_;
  block_recycler<In> recycler_;
  prefetch_throttle throttle_;
  std::size_t taken_ = 0;     // index of the next lane
  std::exception_ptr error_;  // for the next call
};

}  // namespace leat::detail
