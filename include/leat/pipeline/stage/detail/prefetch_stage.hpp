#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/detail/block_recycler.hpp"
#include "leat/pipeline/stage/detail/prefetch_throttle.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace leat::detail {

/// How many runs a stage may be ahead.
inline constexpr std::size_t most_runs = std::size_t{1} << 20;
inline constexpr const char* bad_runs = "let it run ahead by 1 to 1048576 runs";

/// Runs the stages before in a task of their own, some runs ahead of the consumer: on its
/// scheduler, or on a worker's, to which all that is before it belongs then.
template <class Run>
class prefetch_stage final : public inner_stage<Run, Run> {
 public:
  using sink = typename stage<Run>::sink;

  /// Without memory for this one `input` stays where it is.
  prefetch_stage(std::unique_ptr<stage<Run>>&& input, stage_metrics& metrics, std::size_t runs,
                 bool on_worker = false)
      : inner_stage<Run, Run>(metrics),
        queue_(runs, metrics.name()),
        ahead_(metrics.name(), false),
        spent_(runs + 2),
        on_worker_(on_worker) {
    metrics.set_capacity(runs);
    this->begin_input(std::move(input));
  }

  void start(pipeline_core& core) override {
    inner_stage<Run, Run>::start(core);
    ahead_.begin(core.memory());
    if (on_worker_) {
      core.spawn_worker(fill(), this->metrics(), 0);
    } else {
      core.spawn(fill(), this->metrics(), "input");
    }
  }

  task<bool> next(Run& run) override {
    std::optional<held> made = co_await queue_.pop();
    if (!made) co_return false;
    this->metrics().add_held(-1);
    ahead_.leave(made->bytes);
    std::swap(run, made->run);
    spent_.give_back(std::move(made->run));
    co_return true;
  }

  bool has_tasks() const noexcept override { return true; }
  std::string obstacle() const override {
    if (!on_worker_) return this->input().obstacle();
    return "stage '" + this->metrics().name() +
           "': what runs on a worker is not saved with its consumer: leave on_worker out";
  }
  // Its runs are those of the stage before, and it changes nothing in the stream.
  void describe(std::vector<stage_state>& stages) const override { this->input().describe(stages); }
  void save(run_place before, batch_numbers& batches,
            std::vector<stage_state>& stages) const override {
    this->input().save(before, batches, stages);
  }
  void forget(std::uint64_t run) noexcept override {
    if (!on_worker_) this->input().forget(run);
  }
  task<void> restore(std::span<stage_state> stages) override {
    return this->input().restore(stages);
  }
  void rewind() noexcept override { this->input().rewind(); }
  void take_origins(std::uint64_t run, std::vector<origin>& all) override {
    this->input().take_origins(run, all);
  }
  task<void> make_again(std::span<const origin> records, sink to) override {
    return this->input().make_again(records, std::move(to));
  }

 private:
  // A run, and what it counts as.
  struct held {
    Run run;
    std::size_t bytes = 0;
  };

  task<void> wait_for_memory() {
    const waiting w = this->waits(waiting::for_room);
    while (!ahead_.has_room()) co_await ahead_.wait();
  }

  task<void> fill() {
    const at_work here = this->working();
    std::exception_ptr error;
    try {
      for (std::uint64_t number = 0;; ++number) {
        if (on_worker_) this->input().forget(number);
        if (!ahead_.has_room()) co_await wait_for_memory();
        Run run = spent_.take();
        const bool more = co_await this->pull(this->input(), run);
        if (!more) break;
        count_run(this->metrics(), run);
        const std::size_t bytes = ahead_.limited() ? ahead_.enter(memory_of(run)) : 0;
        const waiting w = this->waits(waiting::for_room);
        held h{std::move(run), bytes};
        const bool taken = co_await queue_.push(std::move(h));
        if (!taken) break;
        this->metrics().add_held(1);
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (on_worker_) this->end_input();  // here, since its readers belong to this scheduler
    end_queue(queue_, error);
  }

  fifo_queue<held> queue_;
  run_ahead ahead_;
  spent_runs<Run> spent_;
  const bool on_worker_;
};

}  // namespace leat::detail
