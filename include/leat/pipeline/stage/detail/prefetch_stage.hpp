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

/// The maximum number of blocks that a stage may be ahead.
inline constexpr std::size_t max_prefetch_blocks = std::size_t{1} << 20;
inline constexpr const char* block_count_error = "blocks is out of range: set 1 to 1048576";

/// Runs the preceding stages in a task of their own, some blocks ahead of the consumer, on its
/// scheduler or on a worker's. In the second case these stages belong to the worker.
template <class Block>
class prefetch_stage final : public inner_stage<Block, Block> {
 public:
  using sink = typename stage<Block>::sink;

  /// If memory for the stage is exhausted, `input` is unchanged.
  prefetch_stage(std::unique_ptr<stage<Block>>&& input, stage_metrics& metrics, std::size_t blocks,
                 bool on_worker = false)
      : inner_stage<Block, Block>(metrics),
        queue_(blocks, metrics.name()),
        throttle_(metrics.name(), false),
        recycler_(blocks + 2),
        on_worker_(on_worker) {
    metrics.set_capacity(blocks);
    this->begin_input(std::move(input));
  }

  void start(pipeline_context& context) override {
    inner_stage<Block, Block>::start(context);
    throttle_.begin(context.memory());
    if (on_worker_) {
      context.spawn_worker(fill(), this->metrics(), 0);
    } else {
      context.spawn(fill(), this->metrics(), "input");
    }
  }

  task<bool> next(Block& block) override {
    std::optional<held> made = co_await queue_.pop();
    if (!made) co_return false;
    this->metrics().add_held(-1);
    throttle_.leave(made->bytes);
    std::swap(block, made->block);
    recycler_.give_back(std::move(made->block));
    co_return true;
  }

  bool has_tasks() const noexcept override { return true; }
  std::string save_error() const override {
    if (!on_worker_) return this->input().save_error();
    return "stage '" + this->metrics().name() +
           "' runs on a worker, whose position is not saved; unset on_worker";
  }
  // It passes on the blocks of the previous stage unchanged.
  void describe(std::vector<stage_state>& stages) const override { this->input().describe(stages); }
  void save(block_position before, batch_numbers& batches,
            std::vector<stage_state>& stages) const override {
    this->input().save(before, batches, stages);
  }
  void forget(std::uint64_t block) noexcept override {
    if (!on_worker_) this->input().forget(block);
  }
  task<void> restore(std::span<stage_state> stages) override {
    return this->input().restore(stages);
  }
  void rewind() noexcept override { this->input().rewind(); }
  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    this->input().take_origins(block, all);
  }
  task<void> replay(std::span<const origin> records, sink to) override {
    return this->input().replay(records, std::move(to));
  }

 private:
  // A block, and the bytes that count for it.
  struct held {
    Block block;
    std::size_t bytes = 0;
  };

  task<void> wait_for_memory() {
    const stage_wait_timer w = this->waits(stage_wait_timer::for_output);
    while (!throttle_.has_space()) co_await throttle_.wait();
  }

  task<void> fill() {
    const stage_work_timer here = this->working();
    std::exception_ptr error;
    try {
      for (std::uint64_t number = 0;; ++number) {
        if (on_worker_) this->input().forget(number);
        if (!throttle_.has_space()) co_await wait_for_memory();
        Block block = recycler_.take();
        const bool more = co_await this->pull(this->input(), block);
        if (!more) break;
        count_block(this->metrics(), block);
        const std::size_t bytes = throttle_.limited() ? throttle_.enter(memory_of(block)) : 0;
        const stage_wait_timer w = this->waits(stage_wait_timer::for_output);
        held h{std::move(block), bytes};
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
  prefetch_throttle throttle_;
  block_recycler<Block> recycler_;
  const bool on_worker_;
};

}  // namespace leat::detail
