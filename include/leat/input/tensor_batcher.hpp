#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/batch_remainder.hpp"
#include "leat/base/braced.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/input/batcher.hpp"
#include "leat/input/detail/retained_elements.hpp"
#include "leat/input/detail/turn_order.hpp"
#include "leat/input/element_source.hpp"
#include "leat/queue/element_byte_size.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"
#include "leat/queue/queue_statistics.hpp"
#include "leat/tensor/batch_spec.hpp"
#include "leat/tensor/column_batch.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// Options of a tensor_batcher.
struct tensor_batcher_options {
  std::size_t batch_size = 0;  ///< elements in a batch, at least 1
  std::size_t capacity = 32;   ///< of the queue, in elements; may be below batch_size
  bool dynamic_pad = false;    ///< if true, pads unknown dimensions to the largest of a batch
  batch_remainder remainder = batch_remainder::keep;  ///< keep: the last batch may be smaller
  std::size_t max_weight = unbounded;                 ///< bytes of all elements in the queue
  memory_budget* budget = nullptr;  ///< of bytes, shared with other queues; must outlive this
  option_string name = "batch";     ///< in messages and reports
  /// The time that next() waits for a batch before it fails with deadline_exceeded and removes
  /// nothing. The message states how many elements the batcher has and what should feed it. If not
  /// set, there is no limit, except start_patience.
  std::optional<time_span> patience = {};
  /// The time that next() waits for the first batch if start() was never called, or if a producer
  /// that feeds the sources was never started. It then fails with deadline_exceeded. Not used if
  /// `patience` is set.
  time_span start_patience = detail::default_start_patience;
};

/// Options of a tensor_shuffle_batcher.
struct tensor_shuffle_batcher_options {
  /// Number of elements in a batch, at least 1.
  std::size_t batch_size = 0;
  /// Capacity of the queue, in elements.
  std::size_t capacity = 0;
  std::size_t min_after_dequeue = 0;  ///< elements that remain in the queue while the input lasts
  /// The seed of the random order; if not set, a random seed is used.
  std::optional<std::uint64_t> seed = {};
  /// If true, unknown dimensions are padded to the largest of a batch.
  bool dynamic_pad = false;
  /// Handling of the last elements: `keep` delivers a smaller batch; `drop` drops and counts them.
  batch_remainder remainder = batch_remainder::keep;
  /// Maximum size of all elements in the queue, in bytes.
  std::size_t max_weight = unbounded;
  /// A budget of bytes that the queue shares with other queues; must outlive them.
  memory_budget* budget = nullptr;
  /// The name in messages and reports.
  option_string name = "shuffle_batch";
  /// The time until next() fails with deadline_exceeded; see tensor_batcher_options::patience.
  std::optional<time_span> patience = {};
  /// The limit for a missing start; see tensor_batcher_options::start_patience.
  time_span start_patience = detail::default_start_patience;
};

/// Base class of tensor_batcher and tensor_shuffle_batcher, which collect elements, from sources or
/// pushed by hand, and deliver them as batches of columns.
///
///     leat::tensor_batcher samples(decoder.spec(), {.batch_size = 128});
///     samples.add([&] { return next_sample(reader, decoder); });
///     samples.start(coord);
///     while (auto batch = co_await samples.next()) learn((*batch)["image"], (*batch)["label"]);
///
/// Sources: add one source that runs in several tasks, or several sources. Use intersect_specs() or
/// generalize_specs() to combine the specs of several sources. Each element is checked when it is
/// added. When the last source has ended, the queue closes, and the remaining elements are still
/// delivered. If a source fails, next() throws its error after the elements that came before.
///
/// Without sources, the program pushes the elements and calls close().
///
/// Lifetime: the batcher must live until the coordinator or group has been joined.
///
/// Thread safety: thread-bound before start(); then next(), pushes and close() are thread-safe.
/// Cost:          an element has one allocation for each component, freed with its batch. A batch
///                takes one allocation for each component and one pass over the values.
template <class Batcher>
class basic_tensor_batcher {
 public:
  basic_tensor_batcher(const basic_tensor_batcher&) = delete;
  basic_tensor_batcher& operator=(const basic_tensor_batcher&) = delete;

  /// Adds a source of elements; see element_source. One or several tasks call it until it returns
  /// an empty result. Then each task adds the result of its call in progress, and ends.
  ///
  /// Errors: invalid_argument if the options are invalid or contradict each other.
  template <element_source Source>
  void add(Source source, source_options how = {}) {
    if (how.name.empty()) how.name = "source " + std::to_string(sources_);
    const std::string owner = owner_ + ", " + how.name;
    constexpr bool filters = std::same_as<source_result<Source>, std::optional<filtered_element>>;
    detail::check_source(how, filters, owner);
    const std::size_t tasks = how.tasks;
    const auto shared = std::make_shared<feed<Source>>(std::move(source), std::move(how), owner);
    for (std::size_t i = 0; i < tasks; ++i) {
      const std::string suffix = tasks > 1 ? ", task " + std::to_string(i) : std::string();
      batcher_.add([this, shared] { return run(*shared); }, shared->how.name + suffix,
                   shared->how.on);
    }
    ++sources_;
  }

  /// Starts the sources on the scheduler that runs now, or on the scheduler `on`.
  ///
  /// `owner` is a coordinator or a task group; in a task group, if a source fails, the others
  /// continue.
  ///
  /// Errors: invalid_argument if there is no source; std::bad_alloc, and then no source runs.
  void start(task_owner owner) { batcher_.start(owner); }
  void start(task_owner owner, scheduler& on) { batcher_.start(owner, on); }

  /// Adds an element by hand, waiting while the queue is full. Returns true, or false if the queue
  /// is closed.
  ///
  /// Errors:       invalid_argument if the element does not match the spec; cancelled; see
  ///               basic_queue::push().
  /// Cancellation: total.
  [[nodiscard]] task<bool> push(tensor_tuple element,
                                std::source_location where = std::source_location::current()) {
    spec_.check(element, owner_);
    co_return co_await batcher_.queue().push(std::move(element), where);
  }

  /// Adds the elements of a batch as one contiguous sequence. Returns the number of elements added:
  /// fewer than the batch has if the queue was closed during the call, and 0 for an empty batch.
  ///
  /// Errors:       as push(), but a batch that does not match the spec is an error of the call; see
  ///               basic_queue::push_many().
  /// Cancellation: partial: elements already added stay in the queue, and no more are added.
  [[nodiscard]] awaits<std::size_t> auto push_many(
      tensor_tuple batch, std::source_location where = std::source_location::current()) {
    return batcher_.queue().push_many(spec_.rows(std::move(batch), std::nullopt, owner_), where);
  }

  /// Ends the input: the remaining elements are still delivered. Call it if you push by hand; with
  /// sources, the batcher closes itself.
  bool close() noexcept { return batcher_.queue().close(); }

  /// Returns the next batch. Waits until the batch is full or, with batch_remainder::keep, the
  /// input has ended. Returns an empty optional if the input has ended.
  ///
  /// Errors:       cancelled; the error of a source. Throws std::bad_alloc if there is no memory
  ///               for the batch, or invalid_argument if its size exceeds 64 bits. The next call
  ///               then tries again with the same elements. Throws deadline_exceeded after the
  ///               patience or, if none is set and the start is missing, after start_patience.
  /// Cancellation: total.
  [[nodiscard]] task<std::optional<column_batch>> next(
      std::source_location where = std::source_location::current()) {
    detail::retained_elements::batch elements = retained_.take();
    if (!elements.empty()) co_return batch_of(elements);
    elements.emplace_back();  // before they are taken: to keep them needs no memory then
    auto taken = co_await batcher_.next(where);
    co_return batch_of(elements, std::move(taken));
  }

  /// The blocking form of next() in 0.2.
  template <std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(batcher.next(), limit)")]] auto wait_next(
      const Limit&... limit) {
    return block_on(next(), limit...);
  }

  /// Returns the number of elements that batch_remainder::drop dropped, or 0 before the end.
  [[nodiscard]] std::size_t dropped() const noexcept { return batcher_.dropped(); }

  /// Returns the specification of the columns.
  [[nodiscard]] const batch_spec& spec() const noexcept { return spec_; }
  /// Returns the number of elements in a full batch.
  [[nodiscard]] std::size_t batch_size() const noexcept { return batcher_.batch_size(); }
  /// Returns the name of the batcher in messages and reports.
  [[nodiscard]] const std::string& name() const noexcept { return queue().name(); }
  /// Returns the present fullness of the queue with TensorFlow's tag. Thread safety: thread-safe.
  [[nodiscard]] leat::fullness fullness() const { return batcher_.fullness(); }
  /// Returns the queue of the elements, for its statistics or to close or fail it.
  [[nodiscard]] queue_base& queue() noexcept { return batcher_.queue(); }
  [[nodiscard]] const queue_base& queue() const noexcept { return batcher_.queue(); }

 protected:
  /// Creates the base. The derived class passes all other settings in `options`.
  template <class Options>
  basic_tensor_batcher(batch_spec spec, bool dynamic_pad, const Options& options)
      : spec_(std::move(spec)), owner_("batcher '" + options.name + "'"), batcher_(options) {
    spec_.check_batchable(dynamic_pad, owner_);
  }
  ~basic_tensor_batcher() = default;

 private:
  // The state that the tasks of one source share.
  template <class Source>
  struct feed {
    feed(Source s, source_options h, std::string o)
        : source(std::move(s)), how(std::move(h)), owner(std::move(o)) {}

    Source source;
    const source_options how;
    const std::string owner;  // for messages
    detail::turn_order turns;
    bool ended = false;
  };

  struct turn_guard {
    detail::turn_order::place& place;
    ~turn_guard() { place.pass_on(); }
  };

  // One step of a source's task: false when there is no more.
  template <class Source>
  task<bool> run(feed<Source>& f) {
    if (f.ended) return result(false);
    return f.how.ordered ? run_ordered(f) : run_unordered(f);
  }
  static task<bool> result(bool more) { co_return more; }

  template <class Source>
  task<bool> run_unordered(feed<Source>& f) {
    auto got = co_await f.source();
    co_return co_await enter(f, std::move(got));
  }

  template <class Source>
  task<bool> run_ordered(feed<Source>& f) {
    detail::turn_order::place place = f.turns.take_place();
    source_result<Source> got;
    std::exception_ptr error;
    try {
      got = co_await f.source();
    } catch (...) {
      error = std::current_exception();
    }
    std::exception_ptr stopped;
    try {
      const auto turn = co_await place.wait();
      if (!turn) throw failure(errc::cancelled, f.owner + ": stopped before its turn");
    } catch (...) {
      stopped = std::current_exception();
    }
    if (stopped) std::rethrow_exception(error ? error : stopped);
    const turn_guard guard{place};
    if (error) std::rethrow_exception(error);
    co_return co_await enter(f, std::move(got));
  }

  template <class Source>
  task<bool> enter(feed<Source>& f, std::optional<tensor_tuple> got) {
    if (!got) return end(f);
    if (f.how.enqueue_many) return enter_all(spec_.rows(std::move(*got), std::nullopt, f.owner));
    return enter_one(std::move(*got), f.owner);
  }

  template <class Source>
  task<bool> enter(feed<Source>& f, std::optional<filtered_element> got) {
    if (!got) return end(f);
    const detail::keep_mask mask = detail::to_keep_mask(*got, f.how, f.owner);
    if (!mask.any) return result(true);
    if (!f.how.enqueue_many) return enter_one(std::move(got->element), f.owner);
    return enter_all(spec_.rows(std::move(got->element), mask.each, f.owner));
  }

  template <class Source>
  task<bool> end(feed<Source>& f) {
    f.ended = true;
    return result(false);
  }

  task<bool> enter_one(tensor_tuple element, const std::string& owner) {
    spec_.check(element, owner);
    co_return co_await batcher_.queue().push(std::move(element));
  }
  task<bool> enter_all(std::vector<tensor_tuple> rows) {
    const std::size_t in = co_await batcher_.queue().push_many(rows);
    co_return in == rows.size();
  }

  std::optional<column_batch> batch_of(detail::retained_elements::batch& storage,
                                       std::optional<std::vector<tensor_tuple>> taken) {
    if (!taken) {
      storage = retained_.take();  // the last ones, perhaps
    } else {
      storage.front() = std::move(*taken);
    }
    return batch_of(storage);
  }
  std::optional<column_batch> batch_of(detail::retained_elements::batch& elements) {
    if (elements.empty()) return std::nullopt;
    try {
      return spec_.stack(elements.front());
    } catch (...) {
      retained_.give_back(elements);
      throw;
    }
  }

  const batch_spec spec_;
  const std::string owner_;  // "batcher 'name'", for messages
  detail::retained_elements retained_;
  std::size_t sources_ = 0;
  Batcher batcher_;  // last: its tasks use the others
};

/// A batcher that delivers elements in the order in which they were added. Elements of one source
/// keep the order in which it returns them.
///
///     leat::batch_spec spec({{.type = leat::dtype::int64, .shape = {}}});
///     leat::tensor_batcher numbers(spec, {.batch_size = 32});
///
/// TensorFlow: tf.train.batch, batch_join, maybe_batch, maybe_batch_join.
class tensor_batcher final : public basic_tensor_batcher<batcher<tensor_tuple, element_byte_size>> {
 public:
  /// Errors: invalid_argument, before anything runs, if the batch size or the capacity is 0, if
  ///         patience or start_patience is not above 0, or if a dense column has an unknown rank
  ///         or, without dynamic_pad, unknown dimensions.
  tensor_batcher(batch_spec spec, const tensor_batcher_options& o)
      : basic_tensor_batcher(std::move(spec), o.dynamic_pad,
                             batcher_options{.batch_size = o.batch_size,
                                             .capacity = o.capacity,
                                             .remainder = o.remainder,
                                             .max_weight = o.max_weight,
                                             .budget = o.budget,
                                             .name = o.name,
                                             .patience = o.patience,
                                             .start_patience = o.start_patience}) {}
};

/// A batcher that draws the elements of each batch at random from the queue.
///
/// Recommended capacity: min_after_dequeue + (tasks + a few) * batch_size. With a seed and a single
/// task, the order is the same each time.
///
/// TensorFlow: tf.train.shuffle_batch, shuffle_batch_join, maybe_shuffle_batch,
/// maybe_shuffle_batch_join. Differs from TensorFlow: dynamic_pad is an addition of leat.
class tensor_shuffle_batcher final
    : public basic_tensor_batcher<shuffle_batcher<tensor_tuple, element_byte_size>> {
 public:
  /// Errors: as tensor_batcher; also invalid_argument if min_after_dequeue is not below the
  ///         capacity.
  tensor_shuffle_batcher(batch_spec spec, const tensor_shuffle_batcher_options& o)
      : basic_tensor_batcher(std::move(spec), o.dynamic_pad,
                             shuffle_batcher_options{.batch_size = o.batch_size,
                                                     .capacity = o.capacity,
                                                     .min_after_dequeue = o.min_after_dequeue,
                                                     .seed = o.seed,
                                                     .remainder = o.remainder,
                                                     .max_weight = o.max_weight,
                                                     .budget = o.budget,
                                                     .name = o.name,
                                                     .patience = o.patience,
                                                     .start_patience = o.start_patience}) {}
};

}  // namespace LEAT
