#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/pipeline/detail/stage.hpp"
#include "leat/sync/fifo_queue.hpp"

namespace leat::detail {

/// What becomes of one element: one, none or one, or any number.
enum class arity { one, maybe, many };

template <class T>
struct mapped {
  using type = T;
  static constexpr arity how = arity::one;
};
template <class T>
struct mapped<std::optional<T>> {
  using type = T;
  static constexpr arity how = arity::maybe;
};

/// What a range gives that a function has made, or only lent.
template <class Range>
constexpr bool lends =
    std::is_lvalue_reference_v<Range> || std::ranges::view<std::remove_cvref_t<Range>>;

/// Applies a function to the elements of a run. Gives what it threw; `out` has what was made
/// before.
template <arity How, class Function, class In, class Out>
[[nodiscard]] std::exception_ptr apply(const Function& f, In& in, std::vector<Out>& out) try {
  out.clear();
  if constexpr (How != arity::many) out.reserve(in.size());
  for (auto&& element : in) {
    if constexpr (How == arity::one) {
      out.push_back(f(std::move(element)));
    } else if constexpr (How == arity::maybe) {
      if (auto made = f(std::move(element))) out.push_back(std::move(*made));
    } else {
      using range = decltype(f(std::move(element)));
      for (auto&& made : f(std::move(element))) {
        if constexpr (lends<range>) {
          out.push_back(made);
        } else {
          out.push_back(std::move(made));
        }
      }
    }
  }
  return nullptr;
} catch (...) {
  return std::current_exception();
}

/// Applies a function to each element where the stage is asked.
template <arity How, class In, class Out, class Function>
class map_stage final : public stage<std::vector<Out>> {
 public:
  map_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, Function f)
      : stage<std::vector<Out>>(metrics), input_(std::move(input)), function_(std::move(f)) {}

  void start(pipeline_core& core) override {
    this->metrics().add_task();
    input_->start(core);
  }

  task<bool> next(std::vector<Out>& run) override {
    const at_work here = this->working();
    run.clear();
    while (run.empty()) {
      if (error_) std::rethrow_exception(error_);
      const bool more = co_await this->pull(*input_, in_);
      if (!more) co_return false;
      error_ = apply<How>(function_, in_, run);
    }
    this->metrics().add(run.size(), 0);
    co_return true;
  }

 private:
  const std::unique_ptr<stage<In>> input_;
  const Function function_;
  In in_;
  std::exception_ptr error_;  // for the next call
};

/// The same in several tasks. A task of its own asks the stage before and deals out its runs.
///
/// In the input's order run k goes to worker k modulo workers, through queues of its own, and is
/// taken from there: so the order does not depend on who is faster. Else all workers share one
/// queue on each side.
template <arity How, class In, class Out, class Function>
class parallel_map_stage final : public stage<std::vector<Out>> {
 public:
  parallel_map_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, Function f,
                     std::size_t workers)
      : stage<std::vector<Out>>(metrics),
        input_(std::move(input)),
        function_(std::move(f)),
        workers_(workers) {}

  void start(pipeline_core& core) override {
    const bool ordered = core.options().order == ordering::deterministic;
    const std::size_t lanes = ordered ? workers_ : 1;
    const std::size_t capacity = 2 * workers_ / lanes;
    for (std::size_t i = 0; i < lanes; ++i) {
      lanes_.push_back(std::make_unique<lane>(this->metrics().name(), capacity, workers_ / lanes));
    }
    input_->start(core);
    core.spawn(deal_out(), this->metrics(), "input");
    for (std::size_t i = 0; i < workers_; ++i) {
      this->metrics().add_task();
      core.spawn_worker(work(*lanes_[i % lanes]), this->metrics(), i);
    }
  }

  task<bool> next(std::vector<Out>& run) override {
    run.clear();
    while (run.empty()) {
      if (error_) std::rethrow_exception(error_);
      std::optional<made> m = co_await lanes_[taken_]->out.pop();
      if (!m) co_return false;
      taken_ = (taken_ + 1) % lanes_.size();
      run = std::move(m->run);
      error_ = m->error;
    }
    co_return true;
  }

 private:
  // Of one run of the input: its elements, and what went wrong behind them.
  struct made {
    std::vector<Out> run;
    std::exception_ptr error;
  };
  struct lane {
    lane(const std::string& name, std::size_t capacity, std::size_t live_workers)
        : in(capacity, name + " in"), out(capacity, name + " out"), live(live_workers) {}
    fifo_queue<In> in;
    fifo_queue<made> out;
    std::atomic<std::size_t> live;  // workers
  };

  // What goes wrong before reaches the consumer behind all that was right.
  task<void> deal_out() {
    std::exception_ptr error;
    std::size_t next = 0;
    try {
      for (;;) {
        In run;
        const bool more = co_await input_->next(run);
        if (!more) break;
        const bool taken = co_await lanes_[next]->in.push(std::move(run));
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

  // An error of the function comes behind what it has made; one of the input when all workers of
  // the lane have ended.
  task<void> work(lane& l) {
    const at_work here = this->working();
    try {
      for (bool more = true; more;) {
        std::optional<In> in = co_await pop(l);
        if (!in) break;
        made m;
        m.error = apply<How>(function_, *in, m.run);
        more = !m.error;
        this->metrics().add(m.run.size(), 0);
        const waiting w = this->waits(waiting::for_room);
        const bool taken = co_await l.out.push(std::move(m));
        if (!taken) break;
      }
    } catch (...) {
      l.in.fail(std::current_exception());
    }
    if (--l.live == 0) end_queue(l.out, l.in.failure_cause());
  }

  task<std::optional<In>> pop(lane& l) {
    const waiting w = this->waits(waiting::for_input);
    co_return co_await l.in.pop();
  }

  const std::unique_ptr<stage<In>> input_;
  const Function function_;
  const std::size_t workers_;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::size_t taken_ = 0;     // the lane that is next
  std::exception_ptr error_;  // for the next call
};

}  // namespace leat::detail
