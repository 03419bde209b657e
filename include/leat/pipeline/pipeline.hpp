#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/base/random.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/owned_batch.hpp"
#include "leat/pipeline/source/detail/file_source_checks.hpp"
#include "leat/pipeline/source/detail/make_file_stage.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/detail/for_each.hpp"
#include "leat/pipeline/stage/detail/make_stage.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/pipeline/stage/detail/pipeline_core.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/pipeline/stage/stage_options.hpp"
#include "leat/pipeline/state/detail/match_state.hpp"

namespace LEAT {

namespace detail {
class plan_builder;
}

/// A stream of elements, declared stage by stage from its source and read by one consumer.
///
///     auto batches = leat::read_files<leat::tfrecord_reader>({.files = {"data/*.tfrecord"}})
///                        .shuffle({.capacity = 10'000, .seed = 1})
///                        .batch({.batch_size = 128})
///                        .map("parse", parse, {.workers = 2})
///                        .prefetch(2);
///     co_await batches.for_each([&](leat::tensor_tuple batch) { learn(batch); });
///
/// `Block` is the type in which the last stage passes elements: a batch of views, a batch of owned
/// rows, or a vector. An invalid declaration fails immediately, before any file is opened. Nothing
/// runs before the first next(). From then on the tasks of the stages belong to the consumer's
/// task, and a stop of that task stops them too.
///
/// With ordering::deterministic, the order of the elements is a function of the input and the
/// seeds, for any number of workers. An error is thrown instead of the element that caused it.
///
/// A pipeline can be moved until it runs.
///
/// Thread safety: thread-bound, one call at a time; the metrics are thread-safe.
template <class Block>
class pipeline : private detail::pipeline_core {
 public:
  using value_type = typename Block::value_type;

  /// Called by read_files(), by similar functions, and by the stages.
  pipeline(detail::pimpl<detail::pipeline_context> context,
           std::unique_ptr<detail::stage<Block>> last)
      : pipeline_core(std::move(context)), last_(std::move(last)) {}
  pipeline(pipeline&&) noexcept = default;
  pipeline& operator=(pipeline&&) = delete;
  /// Stops a running pipeline, for example because the loop around next() threw. Waits for tasks on
  /// other threads; the owner of the current task joins those that wait for I/O.
  ~pipeline() {
    in_use_.require_idle();
    if (!context_ || !context_->is_running()) return;
    in_.clear();
    detail::pipeline_context::abandon(std::move(context_), std::move(last_));
  }

  // ---- Stages. Each function consumes the pipeline and returns it with the new stage at its end.
  // Errors of all: invalid_argument if an option is out of range or a name is already in use;
  // resource_exhausted if the memory_budget is too small. The message states what to change.

  /// Applies `f` to each element: f(element) returns one output element, or with std::optional at
  /// most one. If `f` throws, the pipeline ends with that error in place of the element. With
  /// workers, several threads call `f` concurrently. A coroutine does not compile: await it in
  /// for_each(), or in producers of a queue that read_queue() reads.
  template <class Function>
  [[nodiscard]] auto map(std::string name, Function f, const map_stage_options& options = {}) && {
    detail::require_function<Function, value_type>();
    using result = detail::mapped<std::decay_t<std::invoke_result_t<const Function&, value_type>>>;
    return std::move(*this).template mapped<result::how, typename result::type>(
        std::move(name), std::move(f), options);
  }

  /// Like map(), but `f` returns a range of any number of output elements.
  template <class Function>
  [[nodiscard]] auto flat_map(std::string name, Function f,
                              const map_stage_options& options = {}) && {
    detail::require_function<Function, value_type>();
    using range = std::decay_t<std::invoke_result_t<const Function&, value_type>>;
    return std::move(*this).template mapped<detail::arity::many, typename range::value_type>(
        std::move(name), std::move(f), options);
  }

  /// Mixes the elements: draws each one at random from a buffer, which stays full while the input
  /// lasts. Elements other than records and lines must be default constructible.
  ///
  /// Cost: the buffer, and a copy of each record or line into memory that the buffer already has.
  [[nodiscard]] auto shuffle(const shuffle_stage_options& options) && {
    if (options.capacity == 0)
      context().throw_declaration_error(options.name, "capacity is 0: set at least 1");
    const std::size_t least = detail::memory_of(options.capacity, sizeof(value_type));
    stage_metrics& metrics = context().add_stage(options.name, least);
    return continue_with(detail::make_shuffle_stage(std::move(last_), metrics, context().memory(),
                                                    options.capacity, options.seed));
  }

  /// Combines elements into batches, each of which is one element for the stages that follow.
  /// Records become an owned_record_batch, lines an owned_line_batch, others a std::vector.
  [[nodiscard]] auto batch(const batch_stage_options& options) && {
    if (options.batch_size == 0)
      context().throw_declaration_error(options.name, "batch_size is 0: set at least 1");
    stage_metrics& metrics = context().add_stage(options.name);
    return continue_with(
        detail::make_batch_stage(std::move(last_), metrics, options.batch_size, options.remainder));
  }

  /// Runs the preceding stages in a task of their own, up to `blocks` blocks of elements ahead.
  [[nodiscard]] auto prefetch(std::size_t blocks, std::string name = "prefetch") && {
    return std::move(*this).prefetch(
        prefetch_stage_options{.blocks = blocks, .name = std::move(name)});
  }
  [[nodiscard]] auto prefetch(const prefetch_stage_options& options) && {
    if (options.blocks - 1 >= detail::max_prefetch_blocks)
      context().throw_declaration_error(options.name, detail::block_count_error);
    if (options.on_worker && last_ && last_->has_tasks()) {
      context().throw_declaration_error(
          options.name, "on_worker after a stage with workers: call prefetch() before that stage");
    }
    stage_metrics& metrics = context().add_stage(options.name);
    return continue_with(
        detail::make_prefetch_stage(std::move(last_), metrics, options.blocks, options.on_worker));
  }

  // ---- Consumption.

  /// Calls `body`, a function or a coroutine that takes an element by value, for each element. When
  /// for_each() returns or throws, the pipeline has ended. The reason is the end of the input, an
  /// error, a stop, or an exception of `body`.
  ///
  /// A supervisor whose state contains the pipeline saves and stops between two elements, and not
  /// while a coroutine processes one: see docs/supervisor.md, "Mark steps".
  ///
  /// Errors: the errors of next(), and exceptions of `body`.
  template <class Body>
  [[nodiscard]] task<void> for_each(Body body) {
    return detail::for_each(*this, std::move(body), context(), ended_);
  }

  /// Returns the next element, or an empty optional if the input has ended. At the end of the
  /// input, and after an error, all tasks of the pipeline have finished.
  ///
  /// Errors:       the errors of the stages; the pipeline has then ended.
  /// Cancellation: fails with `cancelled`; the pipeline has then ended.
  [[nodiscard]] task<std::optional<value_type>> next() {
    static_assert(
        !std::is_same_v<value_type, byte_view> && !std::is_same_v<value_type, std::string_view>,
        "elements are views of records or lines: call batch() or map() before next()");
    const detail::exclusive_use::guard guard(in_use_);
    while (in_.left() == 0 || context_->should_yield()) {
      const bool more = co_await read(&add_prefetch);
      if (!more) co_return std::nullopt;
    }
    co_return detail::counted(context_->consumer(), in_.take());
  }

  /// Stops the pipeline early and waits for its tasks, including the tasks that wait for I/O.
  ///
  /// Precondition: no call of next() is in progress. To end such a call, stop its task.
  [[nodiscard]] task<void> stop() { return stop_core(); }

  /// Sets the observer of the supervisor that saves this pipeline.
  void observe_steps(std::shared_ptr<detail::step_observer> observer) noexcept {
    context().observe_steps(std::move(observer));
  }

  // ---- Saving and restoring.

  /// Returns the state of the pipeline after the last element that next() returned. A pipeline that
  /// restores it continues with the next element, as if nothing had happened. Call save() when the
  /// program has finished with the last element. You may also call it after the pipeline has ended,
  /// and while another task waits in next().
  ///
  /// The state has positions in files, counters, and the origins of elements in shuffle buffers,
  /// never their bytes. It takes a few hundred bytes, 17 for each file, 10 for each slot of a
  /// buffer, and 10 for each element of a batch that flat_map() has delivered in part.
  ///
  /// Errors: failed_precondition, with the reason, if the pipeline cannot be saved: it begins with
  ///         a queue, has workers with ordering::free, shuffles batches, or runs its source on a
  ///         worker.
  /// Cost:   20 ns for each slot of a buffer.
  [[nodiscard]] std::string save() const { return save_core(); }

  /// Resumes from the state of a pipeline that was declared in the same way. Elements of shuffle
  /// buffers, and elements that flat_map() has delivered in part, are read and made again. So
  /// functions must return the same result for the same element. Workers, readers, the name of the
  /// pipeline, prefetch() and num_epochs may differ. A seed that is not set is taken from `state`.
  ///
  /// Call it before the first next(), on the consumer's scheduler. An error changes nothing.
  ///
  /// Errors:       invalid_argument if the pipeline was declared differently or `state` is not a
  ///               state; data_loss if it is corrupt. Throws failed_precondition if files that were
  ///               read have changed in size or time, if seeds or ranks differ, for other obstacles
  ///               in the input, and after the first next(). Also errors of the system and of
  ///               corrupt files. The message states what differs.
  /// Cancellation: fails with `cancelled` within a few records; the pipeline is then as declared.
  /// Cost:         reads each record that a shuffle buffer held, and calls the functions for it in
  ///               this task, for any number of workers. Other tasks run meanwhile.
  [[nodiscard]] task<void> restore(std::string state) {
    return restore_core({std::move(state)}, &detail::match_own_state);
  }

  /// Like restore(), but for any number of ranks. Pass the states of all former ranks, saved at any
  /// position, to each rank. The elements that those ranks and their stages had left are
  /// distributed, each to one rank. If the number of ranks is unchanged, each resumes its own work.
  ///
  /// Errors: also failed_precondition if `states` are not those of all former ranks, or if these
  ///         are more than 1,024 epochs apart.
  /// Cost:   for each former rank, reads up to `interleave` * `block_length` records or one batch
  ///         of its reader; then a restore() of a share.
  [[nodiscard]] task<void> restore_ranks(std::vector<std::string> states) {
    return restore_core(std::move(states), &detail::reshard_states);
  }

  /// Returns the metrics of the stages from the source to the last one, then of the consumer, for
  /// describe_bottleneck() and prometheus_text().
  [[nodiscard]] auto stages() const { return context().stages(); }
  /// Returns the number of elements that were dropped because they did not fill the last batch.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return context().dropped(); }

 private:
  friend class detail::plan_builder;

  // The stages of plans that accept all elements.
  auto append(const shuffle_stage_options& options) && { return std::move(*this).shuffle(options); }
  auto append(const prefetch_stage_options& options) && {
    return std::move(*this).prefetch(options);
  }

  template <class Next>
  pipeline<Next> continue_with(std::unique_ptr<detail::stage<Next>> s) {
    return {std::move(context_), std::move(s)};
  }

  template <detail::arity How, class Out, class Function>
  auto mapped(std::string name, Function f, const map_stage_options& options) && {
    if (options.workers > 1024)
      context().throw_declaration_error(
          name, "workers is " + std::to_string(options.workers) + ": set at most 1024");
    static_assert(!std::is_same_v<Out, byte_view> && !std::is_same_v<Out, std::string_view>,
                  "function returns views of elements that are destroyed soon: return a copy");
    stage_metrics& metrics = context().add_stage(std::move(name));
    using applied = detail::applied_function<How, Block, Out, Function>;
    auto function = std::make_unique<applied>(std::move(f));
    if (options.workers == 0) {
      return continue_with(
          detail::make_map_stage<How, Block, Out>(std::move(last_), metrics, std::move(function)));
    }
    return continue_with(detail::make_parallel_map_stage<How, Block, Out>(
        std::move(last_), metrics, std::move(function), options.workers,
        context().options().order));
  }

  // ---- The parts that pipeline_core needs.

  detail::any_stage* last() const noexcept override { return last_.get(); }
  void remove_last() noexcept override { last_.reset(); }
  // Not virtual: only a pipeline that is consumed compiles it.
  static void add_prefetch(detail::pipeline_core& core, stage_metrics& metrics) {
    auto& self = static_cast<pipeline&>(core);
    self.last_ = detail::make_prefetch_stage(std::move(self.last_), metrics, 1, false);
  }
  detail::block_position position() const noexcept override { return in_.next(); }
  bool has_elements() const noexcept override { return in_.left() > 0; }
  task<bool> begin_block() override { return last_->next(in_.renew()); }
  void end_block() noexcept override { in_.renewed(); }
  void clear_block() noexcept override { in_.clear(); }
  void restart_block() noexcept override { in_.restart(); }

  std::unique_ptr<detail::stage<Block>> last_;
  detail::input_block<Block> in_;
};

/// Returns a pipeline that begins with the records of files; see file_source.
///
/// Errors: invalid_argument if there is no file or an option is out of range, also of the reader.
template <class Reader>
[[nodiscard]] auto read_files(file_source<Reader> files, pipeline_options options = {}) {
  file_source<Reader> source = std::move(files);  // see braced
  auto context = detail::make_pipeline_context(std::move(options));
  detail::check_file_source(source, *context);
  source.readers = detail::readers_of(source);
  context->wrap_report_handler(source.reader.corruption.on_report);
  stage_metrics& metrics = context->add_stage(source.name, detail::least_memory_of(source));
  auto first = detail::make_file_stage(metrics, std::move(source));
  return pipeline<typename Reader::batch_type>(std::move(context), std::move(first));
}

}  // namespace LEAT
