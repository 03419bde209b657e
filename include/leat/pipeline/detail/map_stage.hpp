#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/detail/apply.hpp"
#include "leat/pipeline/detail/run_ahead.hpp"
#include "leat/pipeline/detail/run_bytes.hpp"
#include "leat/pipeline/detail/run_journal.hpp"
#include "leat/pipeline/detail/spent_runs.hpp"
#include "leat/pipeline/detail/stage.hpp"
#include "leat/pipeline/pipeline_options.hpp"
#include "leat/sync/fifo_queue.hpp"

namespace leat::detail {

/// What the stages that apply a function have in common.
template <arity How, class In, class Out, class Function>
class applying_stage : public inner_stage<In, std::vector<Out>> {
 public:
  using sink = typename stage<std::vector<Out>>::sink;

  applying_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, Function f)
      : inner_stage<In, std::vector<Out>>(std::move(input), metrics), function_(std::move(f)) {}

  void describe(std::vector<stage_state>& stages) const override {
    this->input().describe(stages);
    stages.push_back(description());
  }
  // Where of each element comes one, the input leaves out what the next stage has had.
  void save(run_place before, std::vector<stage_state>& stages) const override {
    const run_place at = where(before.run);
    const std::uint64_t had = at.element + before.element;
    this->input().save({at.run, How == arity::one ? had : 0}, stages);
    stages.push_back(description());
    if constexpr (How != arity::one) stages.back().skip = had;
  }
  void forget(std::uint64_t run) noexcept override {
    journal_.forget(run);
    this->input().forget(where(run).run);
  }
  task<void> restore(std::span<stage_state> stages) override {
    co_await this->input().restore(stages.first(stages.size() - 1));
    const std::uint64_t had = this->input().to_skip();
    leave_out_ = How == arity::one ? 0 : had;
    skip_ = stages.back().skip + (How == arity::one ? had : 0);
  }
  std::uint64_t to_skip() const noexcept override { return skip_; }
  void rewind() noexcept override {
    this->input().rewind();
    skip_ = leave_out_ = 0;
  }

  bool note_origins() override {
    noting_ = this->input().note_origins();
    return noting_;
  }
  void take_origins(std::uint64_t run, std::vector<origin>& all) override {
    const place& at = *journal_.find(run);
    this->input().take_origins(at.made_of, all);
    if constexpr (How != arity::one) all = origins_of_made<How>(all, at.counts);
  }
  task<void> make_again(std::span<const origin> records, sink to) override {
    const typename stage<In>::sink make = [this, &to](In& in, std::span<const origin> of) {
      // Where the function throws, that comes in the stream too, behind what it has made.
      std::vector<Out> made;
      arity_counts counts;
      for (auto&& element : in) {
        const std::size_t before = made.size();
        try {
          apply_to<How>(function_, std::move(element), made);
        } catch (const std::bad_alloc&) {
          throw;
        } catch (...) {  // whoever misses an element says so
        }
        counts.push_back(made.size() - before);
      }
      to(made, origins_of_made<How>(of, counts));
    };
    co_await this->input().make_again(records, make);
  }

 protected:
  // Behind a restore: how many elements of the next run of the input are left out.
  [[nodiscard]] std::size_t leave_out_of(const In& in) noexcept {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(leave_out_, in.size()));
    leave_out_ -= n;
    return n;
  }

  // Makes of a run of the input, from the `first` element on, what comes of it.
  [[nodiscard]] std::exception_ptr make(In& in, std::size_t first, std::vector<Out>& out,
                                        arity_counts& counts) const {
    return apply<How>(function_, in, first, out, noting_ ? &counts : nullptr);
  }

  void begin_run() { journal_.begin({next_, 0, {}}); }

  // A run of the input was had, of which the present run is made, so many elements; if with an
  // error, what else comes of it is what comes next.
  void has_made(std::size_t elements, bool failed, arity_counts&& counts) {
    journal_.last().made_of = had_;
    journal_.last().counts = std::move(counts);
    next_ = failed ? run_place{had_, elements} : run_place{had_ + 1, 0};
    if (noting_ && elements == 0) this->input().take_origins(had_, nobodys_);
    ++had_;
    // Of many runs nothing may come: where the present one is the oldest, it begins behind them.
    if (elements == 0 && !failed && journal_.has_one()) {
      journal_.last().before = next_;
      this->input().forget(next_.run);
    }
  }

 private:
  // Where the stage stood at the beginning of a run: so many elements into what is made of a run of
  // the input. And of which one the run was made then.
  struct place {
    run_place before;
    std::uint64_t made_of = 0;
    arity_counts counts = {};
  };

  [[nodiscard]] run_place where(std::uint64_t run) const noexcept {
    const place* const at = journal_.find(run);
    return at ? at->before : next_;
  }
  [[nodiscard]] stage_state description() const {
    return {.kind = How == arity::many ? "flat_map" : "map", .name = this->metrics().name()};
  }

  const Function function_;
  std::uint64_t had_ = 0;  // runs of the input
  run_place next_;
  bool noting_ = false;
  std::vector<origin> nobodys_;  // of what became nothing
  run_journal<place> journal_;
  std::uint64_t skip_ = 0;
  std::uint64_t leave_out_ = 0;  // elements of the next runs of the input
};

/// Applies a function to each element where the stage is asked.
template <arity How, class In, class Out, class Function>
class map_stage final : public applying_stage<How, In, Out, Function> {
 public:
  using applying_stage<How, In, Out, Function>::applying_stage;

  task<bool> next(std::vector<Out>& run) override {
    const at_work here = this->working();
    run.clear();
    this->begin_run();
    while (run.empty()) {
      if (error_) std::rethrow_exception(error_);
      const bool more = co_await this->pull(this->input(), in_);
      if (!more) co_return false;
      arity_counts counts;
      error_ = this->make(in_, this->leave_out_of(in_), run, counts);
      this->has_made(run.size(), error_ != nullptr, std::move(counts));
    }
    count_run(this->metrics(), run);
    co_return true;
  }

 private:
  In in_;
  std::exception_ptr error_;  // for the next call
};

/// The same in several tasks. A task of its own asks the stage before and deals out its runs.
///
/// In the input's order run k goes to worker k modulo workers, through queues of its own, and is
/// taken from there: so the order does not depend on who is faster. Else all workers share one
/// queue on each side.
template <arity How, class In, class Out, class Function>
class parallel_map_stage final : public applying_stage<How, In, Out, Function> {
 public:
  using base = applying_stage<How, In, Out, Function>;

  parallel_map_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, Function f,
                     std::size_t workers, ordering order)
      : base(std::move(input), metrics, std::move(f)),
        workers_(workers),
        order_(order),
        spent_(3 * workers + 1),
        ahead_(metrics.name(), true) {
    metrics.set_capacity(2 * workers);
  }

  void start(pipeline_core& core) override {
    const bool ordered = order_ == ordering::deterministic;
    const std::size_t lanes = ordered ? workers_ : 1;
    const std::size_t capacity = 2 * workers_ / lanes;
    for (std::size_t i = 0; i < lanes; ++i) {
      lanes_.push_back(std::make_unique<lane>(this->metrics().name(), capacity, workers_ / lanes));
    }
    this->input().start(core);
    ahead_.begin(core.memory());
    core.spawn(deal_out(), this->metrics(), "input");
    for (std::size_t i = 0; i < workers_; ++i) {
      this->metrics().add_task();
      core.spawn_worker(work(*lanes_[i % lanes]), this->metrics(), i);
    }
  }

  task<bool> next(std::vector<Out>& run) override {
    run.clear();
    this->begin_run();
    while (run.empty()) {
      if (error_) std::rethrow_exception(error_);
      std::optional<made> m = co_await lanes_[taken_]->out.pop();
      if (!m) co_return false;
      this->metrics().add_held(-1);
      ahead_.leave(m->bytes);
      taken_ = (taken_ + 1) % lanes_.size();
      run = std::move(m->run);
      error_ = m->error;
      this->has_made(run.size(), error_ != nullptr, std::move(m->counts));
    }
    co_return true;
  }

  std::string obstacle() const override {
    if (order_ == ordering::deterministic) return base::obstacle();
    return "stage '" + this->metrics().name() +
           "': its workers give elements as they get ready: take ordering::deterministic";
  }

 private:
  // A run of the input, and how many of its elements are left out.
  struct dealt {
    In run;
    std::size_t first = 0;
    std::size_t bytes = 0;  // that it counts as
  };
  // Of one run of the input: its elements, and what went wrong behind them.
  struct made {
    std::vector<Out> run;
    std::exception_ptr error;
    arity_counts counts;
    std::size_t bytes = 0;
  };
  struct lane {
    lane(const std::string& name, std::size_t capacity, std::size_t live_workers)
        : in(capacity, name + " in"), out(capacity, name + " out"), live(live_workers) {}
    fifo_queue<dealt> in;
    fifo_queue<made> out;
    std::atomic<std::size_t> live;  // workers
  };

  // What goes wrong before reaches the consumer behind all that was right.
  task<void> deal_out() {
    std::exception_ptr error;
    std::size_t next = 0;
    try {
      for (;;) {
        while (!ahead_.has_room()) co_await ahead_.wait();
        In run = spent_.take();
        const bool more = co_await this->input().next(run);
        if (!more) break;
        const std::size_t bytes = ahead_.limited() ? ahead_.enter(memory_of(run)) : 0;
        const std::size_t first = this->leave_out_of(run);
        dealt d{std::move(run), first, bytes};
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

  // An error of the function comes behind what it has made; one of the input when all workers of
  // the lane have ended.
  task<void> work(lane& l) {
    const at_work here = this->working();
    try {
      for (bool more = true; more;) {
        std::optional<dealt> in = co_await pop(l);
        if (!in) break;
        made m;
        const std::size_t input = ahead_.limited() ? memory_of(in->run) : 0;
        m.error = this->make(in->run, in->first, m.run, m.counts);
        spent_.give_back(std::move(in->run));
        more = !m.error;
        if (ahead_.limited()) m.bytes = ahead_.change(in->bytes, input, memory_of(m.run));
        count_run(this->metrics(), m.run);
        const waiting w = this->waits(waiting::for_room);
        const bool taken = co_await l.out.push(std::move(m));
        if (!taken) break;
        this->metrics().add_held(1);
      }
    } catch (...) {
      l.in.fail(std::current_exception());
    }
    if (--l.live == 0) end_queue(l.out, l.in.failure_cause());
  }

  task<std::optional<dealt>> pop(lane& l) {
    const waiting w = this->waits(waiting::for_input);
    co_return co_await l.in.pop();
  }

  const std::size_t workers_;
  const ordering order_;
  std::vector<std::unique_ptr<lane>> lanes_;
  spent_runs<In> spent_;
  run_ahead ahead_;
  std::size_t taken_ = 0;     // the lane that is next
  std::exception_ptr error_;  // for the next call
};

}  // namespace leat::detail
