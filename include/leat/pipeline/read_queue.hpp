#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "leat/coordination/internal/pop_from_producer.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"

namespace LEAT {

namespace detail {

/// A source that delivers the items of a queue: as many in a block as are available at a time.
template <class Queue>
class queue_stage final : public stage<std::vector<typename Queue::value_type>> {
 public:
  using value_type = typename Queue::value_type;
  using block_type = std::vector<value_type>;

  queue_stage(stage_metrics& metrics, Queue& queue) : stage<block_type>(metrics), queue_(queue) {}

  void start(pipeline_context& context) override {
    this->metrics().add_task();
    title_ = context.title_of(this->metrics().name());
    can_starve_ = !context.options().patience;
  }

  task<bool> next(block_type& block) override {
    const stage_work_timer here = this->working();
    block.clear();
    auto first = co_await pop();
    while (first) {
      block.push_back(std::move(*first));
      if (block.size() == most) break;
      first = queue_.try_pop();
    }
    count_block(this->metrics(), block);
    co_return !block.empty();
  }

  // Popped items cannot be read again.
  std::string save_error() const override {
    return "stage '" + this->metrics().name() + "' reads a queue, whose items cannot be read again";
  }

 private:
  static constexpr std::size_t most = 64;

  task<std::optional<value_type>> pop() {
    const stage_wait_timer w = this->waits(stage_wait_timer::for_input);
    if (!can_starve_) co_return co_await queue_.pop();
    std::optional<value_type> first = co_await pop_from_producer<value_type>(
        queue_, title_, "element", std::source_location::current());
    can_starve_ = false;  // the queue is being filled
    co_return first;
  }

  Queue& queue_;
  std::string title_;        // for messages
  bool can_starve_ = false;  // on a queue whose producer was never started
};

}  // namespace detail

/// Returns a pipeline that begins with the items of a queue and ends when the program closes it. If
/// the queue fails, the stage fails with that error. The name of the stage is the queue's name.
/// Stopping the pipeline loses the items that it has removed and not delivered.
///
/// Without `patience`, the pipeline fails with deadline_exceeded after
/// producer_options::start_patience if the producer that fills the queue was never started. The
/// message names the producer and the missing call.
///
/// The queue must outlive the pipeline.
///
/// Errors: invalid_argument if the queue has no name.
template <class Queue>
[[nodiscard]] auto read_queue(Queue& queue, pipeline_options options = {}) {
  auto context = detail::make_pipeline_context(std::move(options));
  stage_metrics& metrics = context->add_stage(queue.name());
  using stage = detail::queue_stage<Queue>;
  using block = typename stage::block_type;
  std::unique_ptr<detail::stage<block>> first = std::make_unique<stage>(metrics, queue);
  return pipeline<block>(std::move(context), std::move(first));
}

}  // namespace LEAT
