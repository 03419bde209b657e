#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/any_block.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/stage/detail/apply.hpp"
#include "leat/pipeline/stage/detail/applying_stage.hpp"
#include "leat/pipeline/stage/detail/element_pace.hpp"
#include "leat/pipeline/stage/detail/parallel_map_tasks.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"

namespace LEAT::detail {

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
      error_ = co_await this->make(in_, block, counts, pace_);
      this->record_output(block.size(), error_ != nullptr, std::move(counts));
    }
    count_block(this->metrics(), block);
    co_return true;
  }

 private:
  In in_;
  element_pace pace_;
  std::exception_ptr error_;  // for the next call
};

/// Like map_stage, but in several tasks. One more task distributes the blocks of the stage before.
///
/// With ordering::deterministic, block k goes to worker k modulo workers, through queues of that
/// worker, and is taken from there, so the order does not depend on speed. Otherwise all workers
/// share one queue on each side.
template <arity How, class In, class Out>
class parallel_map_stage final : public applying_stage<How, In, Out>, private mapped_input {
 public:
  using base = applying_stage<How, In, Out>;

  parallel_map_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics,
                     typename base::function f, std::size_t workers, ordering order)
      : base(std::move(input), metrics, std::move(f), order == ordering::deterministic),
        tasks_(*this, metrics, workers, order) {}

  void start(pipeline_context& context) override { tasks_.start(context); }
  task<bool> next(std::vector<Out>& block) override { return tasks_.next(&block); }

  bool has_tasks() const noexcept override { return true; }
  std::string save_error() const override {
    if (tasks_.order() == ordering::deterministic) return base::save_error();
    return "stage '" + this->metrics().name() +
           "' does not keep the order of the input; set ordering::deterministic";
  }

 private:
  using output = std::vector<Out>;

  void start_input(pipeline_context& context) override { this->input().start(context); }
  std::unique_ptr<any_block> make_input_block() const override {
    return std::make_unique<block_holder<In>>();
  }
  std::unique_ptr<any_block> make_output_block() const override {
    return std::make_unique<block_holder<output>>();
  }
  task<bool> read(any_block& block) override { return this->input().next(block_in<In>(block)); }
  task<std::exception_ptr> apply(any_block& in, any_block& out, arity_counts& counts,
                                 element_pace& pace) const override {
    return this->make(block_in<In>(in), block_in<output>(out), counts, pace);
  }

  bool begin_output(void* to, std::exception_ptr& error) override {
    output& block = *static_cast<output*>(to);
    block.clear();
    this->begin_block();
    if (const auto later = this->take_unfinished(block)) error = later;
    if (block.empty()) return false;  // a worker counts the others
    count_block(this->metrics(), block);
    return true;
  }
  bool take_output(void* to, any_block& made, bool has_failed, arity_counts&& counts) override {
    output& block = *static_cast<output*>(to);
    block.swap(block_in<output>(made));
    this->record_output(block.size(), has_failed, std::move(counts));
    return !block.empty();
  }

  parallel_map_tasks tasks_;
};

}  // namespace LEAT::detail
