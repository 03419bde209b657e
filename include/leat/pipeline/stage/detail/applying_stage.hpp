#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/stage/detail/apply.hpp"
#include "leat/pipeline/stage/detail/element_pace.hpp"
#include "leat/pipeline/stage/detail/element_replay.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

/// An element of flat_map() of which the next stage has received some results.
struct begun_element {
  origin what;
  std::uint64_t had = 0;
};

/// Returns all elements but the first `count`.
[[nodiscard]] std::vector<begun_element> drop_first(std::vector<begun_element> all,
                                                    std::size_t count);

/// The elements of flat_map() that were begun. They come first, without the results already
/// received.
class flat_map_state final : public stage_state {
 public:
  std::vector<begun_element> begun = {};

  std::string write() const override;
  void read(std::string_view own, const std::vector<setting>& settings) override;
  std::string_view rank_bond() const noexcept override;
  void merge(const std::vector<const stage_state*>& ranks, rank_share& share) override;
  void number_batches(batch_numbers& wanted, bool of_batches) override;
};

/// The common part of the stages that apply a function.
///
/// A position in their output is one between two elements of the input, even if an element of the
/// input became none. Between two results of one element in flat_map(), the position names that
/// element by its origin, and a restore makes it again: another rank may resume there.
template <arity How, class In, class Out>
class applying_stage : public inner_stage<In, std::vector<Out>> {
 public:
  using sink = typename stage<std::vector<Out>>::sink;

  using function = std::unique_ptr<const block_function<In, Out>>;

  /// `in_order`: the results of the blocks of the input are delivered in their order.
  applying_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, function f,
                 bool in_order = true)
      : inner_stage<In, std::vector<Out>>(std::move(input), metrics),
        function_(std::move(f)),
        has_origins_(How == arity::many && in_order && this->input().save_error().empty() &&
                     this->input().enable_origins()) {}

  void drop_functions() noexcept override {
    inner_stage<In, std::vector<Out>>::drop_functions();
    function_.reset();
  }

  saved_stage describe() const override {
    if constexpr (How != arity::many) return {.kind = "map", .name = this->metrics().name()};
    return {
        .kind = "flat_map", .name = this->metrics().name(), .make = &make_state<flat_map_state>};
  }
  block_position save(block_position before, batch_numbers& batches,
                      std::string& own) const override {
    input_position at = position_before(before);
    flat_map_state s;
    s.begun = std::move(at.begun);
    s.number_batches(batches, this->origins_are_batches());
    own = s.write();
    return at.input;
  }
  void forget(std::uint64_t block) noexcept override {
    const log_entry* const at = replay_log_.find(block);
    this->input().forget((at ? at->before : next_).input.block);
    replay_log_.forget(block);
  }
  task<void> restore(stage_state& state) override {
    if constexpr (How == arity::many) {
      auto& s = static_cast<flat_map_state&>(state);
      if (!s.begun.empty()) co_await replay_unfinished(std::move(s.begun));
    }
    co_return;
  }
  void rewind() noexcept override {
    next_ = {};
    unfinished_.reset();
  }

  bool enable_origins() override {
    origins_enabled_ = How == arity::many ? has_origins_ : this->input().enable_origins();
    return origins_enabled_;
  }
  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    const log_entry& at = *replay_log_.find(block);
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
  task<void> replay(std::span<const origin> records, sink to) override {
    const typename stage<In>::sink make = [this, &to](In& in, std::span<const origin> of) {
      // If the function throws, the error follows its earlier results in the stream too.
      std::vector<Out> made;
      arity_counts counts;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const std::size_t before = made.size();
        static_cast<void>(function_->make_one(in, i, made));  // the caller notices a missing one
        counts.push_back(made.size() - before);
      }
      to(made, origins_of_made<How>(of, counts));
    };
    co_await this->input().replay(records, make);
  }

 protected:
  // Applies the function to a block of the input, and lets other tasks run meanwhile if that takes
  // long. Returns the exception of the function, if any. Errors: cancelled.
  [[nodiscard]] task<std::exception_ptr> make(In& in, std::vector<Out>& out, arity_counts& counts,
                                              element_pace& pace) const {
    out.clear();
    for (std::size_t at = 0; at < in.size();) {
      if (!function_) throw failure(errc::cancelled, "pipeline");
      const std::size_t count = std::min(in.size() - at, pace.left());
      const std::exception_ptr error =
          function_->make(in, at, at + count, out, How != arity::one ? &counts : nullptr);
      if (error) co_return error;
      at += count;
      if (pace.is_turn_over_after(count)) co_await wait_for_turn(this->metrics());
    }
    co_return nullptr;
  }

  void begin_block() { replay_log_.begin({next_}); }

  // Takes the rest of elements that were begun before a restore, which precedes everything else: a
  // block, if there is any, which was not counted yet. Returns the error after it.
  [[nodiscard]] std::exception_ptr take_unfinished(std::vector<Out>& block) {
    if (!unfinished_) return nullptr;
    unfinished_outputs rest = std::move(*unfinished_);
    unfinished_.reset();
    block = std::move(rest.made);
    if (rest.error) {
      next_.begun = drop_first(std::move(next_.begun), rest.counts.size() - 1);
      next_.begun.front().had += rest.counts.back();
    } else {
      next_.begun.clear();
    }
    log_entry& at = replay_log_.last();
    at.is_rest = !block.empty();
    if (at.is_rest) {
      at.counts = std::move(rest.counts);
    } else {
      at.before = next_;
    }
    return rest.error;
  }

  // Records that the current block has `elements` elements, made of the next block of the input. If
  // the function failed, the rest of that block of the input comes next.
  void record_output(std::size_t elements, bool failed, arity_counts&& counts) {
    log_entry& at = replay_log_.last();
    at.made_of = input_blocks_;
    at.has_failed = failed;
    at.counts = std::move(counts);
    if constexpr (How == arity::many) {
      if (has_origins_) this->input().take_origins(input_blocks_, at.origins);
    } else {
      if (origins_enabled_ && elements == 0)
        this->input().take_origins(input_blocks_, discarded_origins_);
    }
    next_ = failed ? position_after(at, elements) : input_position{.input = {input_blocks_ + 1, 0}};
    ++input_blocks_;
    // Many blocks may yield no element: if the current block is the oldest, it begins after them.
    if (elements == 0 && !failed && replay_log_.has_one()) {
      at.before = next_;
      this->input().forget(next_.input.block);
    }
  }

 private:
  // The position of the stage: the next element of its input, and before that the rest of some
  // elements that were begun.
  struct input_position {
    block_position input;
    std::vector<begun_element> begun = {};
  };
  // The position at the beginning of a block, and what that block was made of.
  struct log_entry {
    input_position before;
    bool is_rest = false;  // made of elements in before.begun; else of a block of the input
    bool has_failed = false;
    std::uint64_t made_of = 0;
    arity_counts counts = {};
    std::vector<origin> origins = {};  // of that block of the input, for flat_map()
  };
  // The outputs of begun elements that were not delivered yet.
  struct unfinished_outputs {
    std::vector<Out> made;
    arity_counts counts;  // of each element, up to the one that has failed
    std::exception_ptr error;
  };

  // Returns the position after the first `elements` results of a block of the input. The function
  // may have failed for the last input element.
  [[nodiscard]] input_position position_after(const log_entry& at, std::uint64_t elements) const {
    if constexpr (How == arity::one) return {.input = {at.made_of, elements}};
    std::size_t whole = at.counts.size();
    if (at.has_failed && whole > 0) --whole;
    std::size_t i = 0;
    while (i < whole && elements >= at.counts[i]) elements -= at.counts[i++];
    if (elements == 0) return {.input = {at.made_of, i}};
    if (!has_origins_) return {.input = {at.made_of, i}};  // nobody can save it
    return {.input = {at.made_of, i + 1}, .begun = {{at.origins[i], elements}}};
  }

  [[nodiscard]] input_position position_before(block_position before) const {
    const log_entry* const at = replay_log_.find(before.block);
    input_position s = at ? at->before : next_;
    if (!at || before.element == 0) return s;
    if constexpr (How == arity::one) {
      s.input.element += before.element;
    } else if (!at->is_rest) {
      s = position_after(*at, before.element);
    } else {
      std::uint64_t left = before.element;
      std::size_t i = 0;
      while (i + 1 < at->counts.size() && left >= at->counts[i]) left -= at->counts[i++];
      s.begun = drop_first(std::move(s.begun), i);
      s.begun.front().had += left;
    }
    return s;
  }

  // Makes the elements again that were begun. An element that was begun in two epochs is made
  // twice.
  task<void> replay_unfinished(std::vector<begun_element> begun) {
    std::vector<origin> what;
    for (const begun_element& b : begun) what.push_back(b.what);
    std::vector<std::vector<Out>> made(begun.size());
    std::vector<std::exception_ptr> errors(begun.size());
    const auto make = [&](replay_requests& left, In& in, std::span<const origin> of) {
      std::size_t given = 0;
      for (std::size_t i = 0; i < of.size(); ++i) {
        const auto [first, last] = left.find_requesters(of[i]);
        std::size_t who = first;
        while (who != last && !left.wants(who)) ++who;
        if (who == last) continue;
        const std::size_t k = left.give(who);
        errors[k] = function_->make_one(in, i, made[k]);
        ++given;
      }
      return given;
    };
    const bool all = co_await complete_replay<In>::replay(this->input(), what, make);
    if (!all) throw_begun_error();
    unfinished_.emplace();
    for (std::size_t k = 0; k < begun.size() && !unfinished_->error; ++k) {
      if (made[k].size() < begun[k].had) throw_begun_error();
      const auto rest = made[k].begin() + static_cast<std::ptrdiff_t>(begun[k].had);
      unfinished_->counts.push_back(static_cast<std::size_t>(made[k].end() - rest));
      for (auto at = rest; at != made[k].end(); ++at) unfinished_->made.push_back(std::move(*at));
      unfinished_->error = errors[k];
    }
    next_.begun = std::move(begun);
  }
  [[noreturn]] void throw_begun_error() const {
    throw_state_error(
        this->metrics().name(),
        "the function returned other elements than before for a partly consumed element; "
        "functions must return the same elements again");
  }

  function function_;
  const bool has_origins_;          // of the input, where the function makes several of one
  bool origins_enabled_ = false;    // the next stage asks for origins
  std::uint64_t input_blocks_ = 0;  // blocks of the input
  input_position next_;
  std::optional<unfinished_outputs> unfinished_;
  std::vector<origin> discarded_origins_;  // of elements without results
  replay_log<log_entry> replay_log_;
};

}  // namespace LEAT::detail
