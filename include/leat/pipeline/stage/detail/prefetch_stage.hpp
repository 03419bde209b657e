#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/any_block.hpp"
#include "leat/pipeline/stage/detail/prefetch_tasks.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

/// The maximum number of blocks that a stage may be ahead.
inline constexpr std::size_t max_prefetch_blocks = std::size_t{1} << 20;
inline constexpr const char* block_count_error = "blocks is out of range: set 1 to 1048576";

/// Runs the preceding stages in a task of their own, some blocks ahead of the consumer, on its
/// scheduler or on a worker's. In the second case these stages belong to the worker.
///
/// It passes on the blocks of the previous stage unchanged, so it has no state.
template <class Block>
class prefetch_stage final : public inner_stage<Block, Block>, private prefetched_input {
 public:
  /// If memory for the stage is exhausted, `input` is unchanged.
  prefetch_stage(std::unique_ptr<stage<Block>>&& input, stage_metrics& metrics, std::size_t blocks,
                 bool on_worker = false)
      : inner_stage<Block, Block>(metrics), tasks_(*this, metrics, blocks, on_worker) {
    this->begin_input(std::move(input));
  }

  void start(pipeline_context& context) override {
    inner_stage<Block, Block>::start(context);
    tasks_.start(context);
  }

  task<bool> next(Block& block) override { return tasks_.next(&block); }

  bool has_tasks() const noexcept override { return true; }
  std::string save_error() const override {
    if (!tasks_.on_worker()) return this->input().save_error();
    return "stage '" + this->metrics().name() +
           "' runs on a worker, whose position is not saved; unset on_worker";
  }
  void forget(std::uint64_t block) noexcept override {
    if (!tasks_.on_worker()) this->input().forget(block);
  }

 private:
  std::unique_ptr<any_block> make_block() const override {
    return std::make_unique<block_holder<Block>>();
  }
  task<bool> read(any_block& block) override {
    return this->pull(this->input(), block_in<Block>(block));
  }
  void forget_input(std::uint64_t block) noexcept override { this->input().forget(block); }
  void destroy_input() noexcept override { this->end_input(); }

  prefetch_tasks tasks_;
};

}  // namespace LEAT::detail
