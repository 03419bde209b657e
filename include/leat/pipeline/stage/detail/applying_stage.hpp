#pragma once

#include <algorithm>
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
#include "leat/pipeline/stage/detail/apply.hpp"
#include "leat/pipeline/stage/detail/element_replay.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace leat::detail {

/// What the stages that apply a function have in common.
///
/// A place in their output is one between two elements of the input, also where one becomes none.
/// In the midst of what flat_map() makes of one, that one is known by its origin, and made again at
/// a restore: whoever goes on need not have the same input.
template <arity How, class In, class Out>
class applying_stage : public inner_stage<In, std::vector<Out>> {
 public:
  using sink = typename stage<std::vector<Out>>::sink;

  using function = std::unique_ptr<const run_function<In, Out>>;

  /// `in_order`: what is made of the runs of the input is had in their order.
  applying_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, function f,
                 bool in_order = true)
      : inner_stage<In, std::vector<Out>>(std::move(input), metrics),
        function_(std::move(f)),
        knows_origins_(How == arity::many && in_order && this->input().obstacle().empty() &&
                       this->input().note_origins()) {}

  void drop_functions() noexcept override {
    inner_stage<In, std::vector<Out>>::drop_functions();
    function_.reset();
  }

  void describe(std::vector<stage_state>& stages) const override {
    this->input().describe(stages);
    stages.push_back(description());
  }
  void save(run_place before, batch_numbers& batches,
            std::vector<stage_state>& stages) const override {
    stand s = before_element(before);
    if (this->comes_of_batches()) {
      for (begun_element& b : s.begun) b.what.index = batches.index_of(b.what.index);
    }
    this->input().save(s.input, batches, stages);
    stages.push_back(description());
    stages.back().begun = std::move(s.begun);
  }
  void forget(std::uint64_t run) noexcept override {
    const place* const at = journal_.find(run);
    this->input().forget((at ? at->before : next_).input.run);
    journal_.forget(run);
  }
  task<void> restore(std::span<stage_state> stages) override {
    co_await this->input().restore(stages.first(stages.size() - 1));
    if constexpr (How == arity::many) {
      if (!stages.back().begun.empty()) co_await make_rest(std::move(stages.back().begun));
    }
  }
  void rewind() noexcept override {
    this->input().rewind();
    next_ = {};
    rest_.reset();
  }

  bool note_origins() override {
    noting_ = How == arity::many ? knows_origins_ : this->input().note_origins();
    return noting_;
  }
  void take_origins(std::uint64_t run, std::vector<origin>& all) override {
    const place& at = *journal_.find(run);
    if constexpr (How == arity::many) {
      all.clear();
      for (std::size_t i = 0; i < at.counts.size(); ++i) {
        const begun_element from = at.is_rest ? at.before.begun[i] : begun_element{at.origins[i]};
        for (std::size_t k = 0; k < at.counts[i]; ++k) all.push_back(from.what.child(from.had + k));
      }
    } else {
      this->input().take_origins(at.made_of, all);
      if constexpr (How == arity::maybe) all = origins_of_made<How>(all, at.counts);
    }
  }
  task<void> make_again(std::span<const origin> records, sink to) override {
    const typename stage<In>::sink make = [this, &to](In& in, std::span<const origin> of) {
      // Where the function throws, that comes in the stream too, behind what it has made.
      std::vector<Out> made;
      arity_counts counts;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const std::size_t before = made.size();
        static_cast<void>(function_->make_one(in, i, made));  // whoever misses an element says so
        counts.push_back(made.size() - before);
      }
      to(made, origins_of_made<How>(of, counts));
    };
    co_await this->input().make_again(records, make);
  }

 protected:
  // Makes of a run of the input what comes of it.
  [[nodiscard]] std::exception_ptr make(In& in, std::vector<Out>& out, arity_counts& counts) const {
    if (!function_) [[unlikely]]
      return std::make_exception_ptr(failure(errc::cancelled, "pipeline"));
    return function_->make(in, out, How != arity::one ? &counts : nullptr);
  }

  void begin_run() { journal_.begin({next_}); }

  // What is left of elements that were begun elsewhere comes before all else: a run of it, if there
  // is any, which nobody has counted, and what went wrong behind it.
  [[nodiscard]] std::exception_ptr give_rest(std::vector<Out>& run) {
    if (!rest_) return nullptr;
    rest_of_begun rest = std::move(*rest_);
    rest_.reset();
    run = std::move(rest.made);
    if (rest.error) {
      next_.begun = rest_behind(std::move(next_.begun), rest.counts.size() - 1);
      next_.begun.front().had += rest.counts.back();
    } else {
      next_.begun.clear();
    }
    place& at = journal_.last();
    at.is_rest = !run.empty();
    if (at.is_rest) {
      at.counts = std::move(rest.counts);
    } else {
      at.before = next_;
    }
    return rest.error;
  }

  // A run of the input was had, of which the present run is made, so many elements; if with an
  // error, what else comes of it is what comes next.
  void has_made(std::size_t elements, bool failed, arity_counts&& counts) {
    place& at = journal_.last();
    at.made_of = had_;
    at.has_failed = failed;
    at.counts = std::move(counts);
    if constexpr (How == arity::many) {
      if (knows_origins_) this->input().take_origins(had_, at.origins);
    } else {
      if (noting_ && elements == 0) this->input().take_origins(had_, nobodys_);
    }
    next_ = failed ? behind(at, elements) : stand{.input = {had_ + 1, 0}};
    ++had_;
    // Of many runs nothing may come: where the present one is the oldest, it begins behind them.
    if (elements == 0 && !failed && journal_.has_one()) {
      at.before = next_;
      this->input().forget(next_.input.run);
    }
  }

 private:
  // Where the stage stands: what of its input comes next, and before that the rest of some elements
  // that were begun.
  struct stand {
    run_place input;
    std::vector<begun_element> begun = {};
  };
  // Where it stood at the beginning of a run, and what that was made of then.
  struct place {
    stand before;
    bool is_rest = false;  // of what was begun then; else of a run of the input
    bool has_failed = false;
    std::uint64_t made_of = 0;
    arity_counts counts = {};
    std::vector<origin> origins = {};  // of that run, for flat_map()
  };
  // What was not had of elements that were begun.
  struct rest_of_begun {
    std::vector<Out> made;
    arity_counts counts;  // of each, up to the one that has failed
    std::exception_ptr error;
  };

  [[nodiscard]] static std::vector<begun_element> rest_behind(std::vector<begun_element> all,
                                                              std::size_t count) {
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    return all;
  }

  // Behind so many elements that were made of a run of the input; the last one may have failed.
  [[nodiscard]] stand behind(const place& at, std::uint64_t elements) const {
    if constexpr (How == arity::one) return {.input = {at.made_of, elements}};
    std::size_t whole = at.counts.size();
    if (at.has_failed && whole > 0) --whole;
    std::size_t i = 0;
    while (i < whole && elements >= at.counts[i]) elements -= at.counts[i++];
    if (elements == 0) return {.input = {at.made_of, i}};
    if (!knows_origins_) return {.input = {at.made_of, i}};  // nobody can save it
    return {.input = {at.made_of, i + 1}, .begun = {{at.origins[i], elements}}};
  }

  [[nodiscard]] stand before_element(run_place before) const {
    const place* const at = journal_.find(before.run);
    stand s = at ? at->before : next_;
    if (!at || before.element == 0) return s;
    if constexpr (How == arity::one) {
      s.input.element += before.element;
    } else if (!at->is_rest) {
      s = behind(*at, before.element);
    } else {
      std::uint64_t left = before.element;
      std::size_t i = 0;
      while (i + 1 < at->counts.size() && left >= at->counts[i]) left -= at->counts[i++];
      s.begun = rest_behind(std::move(s.begun), i);
      s.begun.front().had += left;
    }
    return s;
  }

  // Has the elements made again that were begun. One that was begun twice, in two epochs, is made
  // twice.
  task<void> make_rest(std::vector<begun_element> begun) {
    std::vector<origin> what;
    for (const begun_element& b : begun) what.push_back(b.what);
    std::vector<std::vector<Out>> made(begun.size());
    std::vector<std::exception_ptr> errors(begun.size());
    const auto make = [&](wanted_elements& left, In& in, std::span<const origin> of) {
      std::size_t given = 0;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const auto [first, last] = left.who_want(of[i]);
        std::size_t who = first;
        while (who != last && !left.wants(who)) ++who;
        if (who == last) continue;
        const std::size_t k = left.give(who);
        errors[k] = function_->make_one(in, i, made[k]);
        ++given;
      }
      return given;
    };
    const bool all = co_await all_elements<In>::make_again(this->input(), what, make);
    if (!all) refuse_begun();
    rest_.emplace();
    for (std::size_t k = 0; k < begun.size() && !rest_->error; ++k) {
      if (made[k].size() < begun[k].had) refuse_begun();
      const auto rest = made[k].begin() + static_cast<std::ptrdiff_t>(begun[k].had);
      rest_->counts.push_back(static_cast<std::size_t>(made[k].end() - rest));
      for (auto at = rest; at != made[k].end(); ++at) rest_->made.push_back(std::move(*at));
      rest_->error = errors[k];
    }
    next_.begun = std::move(begun);
  }
  [[noreturn]] void refuse_begun() const {
    refuse_state(this->metrics().name(),
                 "an element of which a part was had is not made any more as it was: a function "
                 "gives others");
  }

  [[nodiscard]] stage_state description() const {
    return {.kind = How == arity::many ? "flat_map" : "map", .name = this->metrics().name()};
  }

  function function_;
  const bool knows_origins_;  // of the input, where the function makes several of one
  bool noting_ = false;       // the next stage asks for origins
  std::uint64_t had_ = 0;     // runs of the input
  stand next_;
  std::optional<rest_of_begun> rest_;
  std::vector<origin> nobodys_;  // of what became nothing
  run_journal<place> journal_;
};

}  // namespace leat::detail
