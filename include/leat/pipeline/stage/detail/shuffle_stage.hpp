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

#include "leat/base/random.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/element/detail/owned_block.hpp"
#include "leat/pipeline/element/detail/row_memory.hpp"
#include "leat/pipeline/element/detail/row_positions.hpp"
#include "leat/pipeline/element/detail/shuffle_slot.hpp"
#include "leat/pipeline/stage/detail/buffer_origins.hpp"
#include "leat/pipeline/stage/detail/element_replay.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace leat::detail {

/// Gives elements drawn at random from a buffer that is kept full while the input lasts. One that
/// got the elements of several at a restore gives those first of which it has too many.
template <class In>
class shuffle_stage final : public inner_stage<In, owned_run<In>> {
 public:
  using out = owned_run<In>;
  using sink = typename stage<out>::sink;

  shuffle_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, held_bytes& memory,
                std::size_t capacity, std::optional<std::uint64_t> seed)
      : inner_stage<In, out>(std::move(input), metrics),
        capacity_(capacity),
        given_seed_(seed),
        initial_(seed_or_random(seed)),
        random_(initial_),
        memory_(memory.limited() ? &memory : nullptr),
        noting_(this->input().obstacle().empty() && !this->input().comes_of_batches() &&
                this->input().note_origins()) {
    metrics.set_capacity(capacity);
  }

  task<bool> next(out& run) override {
    const at_work here = this->working();
    run.clear();
    if constexpr (is_rows) run.keep_paths(positions_.paths());
    journal_.begin({now()});
    while (run.size() < run_size) {
      if (in_.left() == 0 && !ended_) {
        co_await refill();
        if (error_ && !run.empty()) break;
        if (error_) std::rethrow_exception(error_);
        if constexpr (is_rows) run.keep_paths(positions_.paths());
        if (memory_) count_memory(memory_of(run));
      }
      if (ended_ && places_.empty()) break;
      draw(run);
    }
    count_run(this->metrics(), run);
    this->metrics().set_held(static_cast<std::int64_t>(places_.size()));
    if (memory_) count_memory(memory_of(run));
    co_return !run.empty();
  }

  std::string obstacle() const override {
    std::string before = this->input().obstacle();
    if (noting_ || !before.empty()) return before;
    return "stage '" + this->metrics().name() +
           "': its buffer holds elements that are made of several records: shuffle before batch()";
  }
  void describe(std::vector<stage_state>& stages) const override {
    this->input().describe(stages);
    stages.push_back(description());
  }
  void save(run_place before, batch_numbers& batches,
            std::vector<stage_state>& stages) const override {
    const place_in_stream at = where_before(before);
    this->input().save(at.input, batches, stages);
    stage_state s = description();
    s.buffer = buffer_state{random_.seed(), at.draws, held_.at(at.held)};
    stages.push_back(std::move(s));
  }
  void forget(std::uint64_t run) noexcept override {
    journal_.forget(run);
    const place_in_stream at = where(run);
    held_.forget(at.held);
    this->input().forget(at.input.run);
  }
  task<void> restore(std::span<stage_state> stages) override {
    stage_state& s = stages.back();
    if (!s.buffer) refuse_state(this->metrics().name(), "its state is not of a buffer");
    if (s.buffer->is_share) s.buffer->seed = given_seed_.value_or(s.buffer->seed);
    require_seed(this->metrics().name(), given_seed_, s.buffer->seed);
    co_await this->input().restore(stages.first(stages.size() - 1));
    random_ = random_engine(s.buffer->seed, s.buffer->draws);
    co_await hold_again(s.buffer->held);
    held_.assign(std::move(s.buffer->held));
  }
  void rewind() noexcept override {
    this->input().rewind();
    in_.restart();
    empty();
    held_.assign({});
    random_ = initial_;
  }

  void take_origins(std::uint64_t run, std::vector<origin>& all) override {
    journal_.take_origins(run, all);
  }
  bool note_origins() override {
    passes_on_ = noting_;
    return noting_;
  }
  task<void> make_again(std::span<const origin> records, sink to) override {
    row_positions<In>& positions = positions_;
    const typename stage<In>::sink pass_on = [&](In& in, std::span<const origin> of) {
      out made;
      if constexpr (is_rows) {
        positions.begin(in);
        made.keep_paths(positions.paths());
        for (std::size_t i = 0; i < in.size(); ++i) made.push_back(in[i], positions.of(in, i));
      } else {
        for (auto&& element : in) made.push_back(std::move(element));
      }
      to(made, of);
    };
    co_await this->input().make_again(records, pass_on);
  }

 private:
  static constexpr std::size_t run_size = 64;
  using place = typename elements_again<In>::place;
  static constexpr bool is_rows = requires(const place& p) { p.position(); };

  struct place_in_stream {
    run_place input;
    std::uint64_t draws = 0;
    buffer_origins::mark held;
  };
  // Where the stage stood when it began to draw: so many elements of its run were given by then.
  // What came for those it drew, if anything did, came from one run of the input.
  struct drawing {
    std::uint64_t given = 0;
    place_in_stream at;
  };
  // Where it stood at the beginning of a run, and what that run then gave.
  struct run_begin {
    place_in_stream at;
    std::vector<origin> origins = {};
    std::vector<drawing> draws_of_run = {};
  };

  [[nodiscard]] place_in_stream now() const {
    return {in_.next(), random_.position(), held_.now()};
  }
  [[nodiscard]] place_in_stream where(std::uint64_t run) const {
    const run_begin* const begin = journal_.find(run);
    return begin ? begin->at : now();
  }
  // Before an element.
  [[nodiscard]] place_in_stream where_before(run_place before) const {
    place_in_stream at = where(before.run);
    std::uint64_t left = before.element;
    const run_begin* const begin = journal_.find(before.run);
    if (!begin || left == 0) return at;
    for (const drawing& d : begin->draws_of_run) {
      if (d.given > before.element) break;
      at = d.at;
      left = before.element - d.given;
    }
    random_engine random(random_.seed(), at.draws);
    for (; left > 0 && at.held.steps < held_.steps(); --left) {
      static_cast<void>(random.uniform_below(at.held.size));
      if (held_.removed(at.held.steps++)) {
        --at.held.size;
      } else {
        ++at.input.element;
      }
    }
    at.draws = random.position();
    return at;
  }
  [[nodiscard]] stage_state description() const {
    return {
        .kind = "shuffle", .name = this->metrics().name(), .settings = {{"capacity", capacity_}}};
  }

  // What the buffer has taken since the last look, with the run that it gives and the next one.
  void count_memory(std::size_t of_run) {
    constexpr std::size_t of_place = 112 + sizeof(place);  // where it comes from, and what grows
    const std::size_t bytes = places_.size() * of_place + 2 * of_run + beside_;
    counts_as(bytes);
    memory_->require(this->metrics().name(), bytes);
  }
  void counts_as(std::size_t bytes) noexcept {
    memory_->add(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(counted_));
    counted_ = bytes;
  }
  void empty() noexcept {
    places_.clear();
    beside_ = 0;
    if (memory_) counts_as(least_);
  }

  // What goes wrong is for the call that has nothing to give.
  task<void> refill() {
    if (error_) co_return;
    try {
      ended_ = !co_await this->pull(this->input(), in_, noting_ ? &of_input_ : nullptr);
      if (!ended_) positions_.begin(in_.run());
    } catch (...) {
      error_ = std::current_exception();
      in_.clear();
    }
  }

  // The place that is drawn some steps later is in no cache: it is asked for, and what it refers to
  // a step before. At the end of the input another may come.
  void expect_later() const noexcept {
    constexpr std::uint64_t far = 8;
    const std::size_t later = drawn_after(far);
    ask_for_all(places_[later]);
    if (noting_) ask_for(&held_[later]);
    places_[drawn_after(0)].expect();
  }
  [[nodiscard]] std::size_t drawn_after(std::uint64_t steps) const noexcept {
    random_engine ahead(random_.seed(), random_.position() + steps);
    return static_cast<std::size_t>(ahead.uniform_below(places_.size()));
  }

  // As many elements as the present run of the input allows.
  void draw(out& run) {
    while (places_.size() < capacity_ && !ended_) {
      if (in_.left() == 0) return;
      if (noting_) held_.add(of_input_[in_.taken()]);
      grow();
      put_next(places_.emplace_back());
    }
    if (noting_) journal_.last().draws_of_run.push_back({run.size(), now()});
    while (run.size() < run_size && !places_.empty()) {
      const bool leaves = ended_ || places_.size() > capacity_;
      if (!leaves && in_.left() == 0) return;
      const auto drawn = static_cast<std::size_t>(random_.uniform_below(places_.size()));
      if (passes_on_) journal_.last().origins.push_back(held_[drawn]);
      place& p = places_[drawn];
      expect_later();
      if (memory_) beside_ -= p.memory();
      if constexpr (is_rows) {
        run.push_back(p.take(), p.position());
      } else {
        run.push_back(p.take());
      }
      if (leaves) {
        if (noting_) held_.remove(drawn);
        std::swap(p, places_.back());
        places_.pop_back();
      } else {
        if (noting_) held_.replace(drawn, of_input_[in_.taken()]);
        put_next(p);
      }
    }
  }

  // Not twice as large where it will never be full.
  void grow() {
    if (places_.size() < places_.capacity()) return;
    places_.reserve(std::min(capacity_, std::max(run_size, 2 * places_.size())));
  }

  // The next element of the input comes to a place.
  void put_next(place& p) {
    if constexpr (is_rows) {
      const record_position from = positions_.of(in_.run(), in_.taken());
      p.put(in_.take(), from);
    } else {
      p.put(in_.take());
    }
    if (memory_) beside_ += p.memory();
  }

  task<void> hold_again(const std::vector<origin>& held) {
    empty();
    places_.resize(held.size());
    // What has to be counted has memory of its own, which is free when it goes.
    row_memory rows;
    elements_again<In> again(places_, held, positions_, memory_ ? nullptr : &rows);
    const auto count = [this](const place& p) {
      if (!memory_) return;
      beside_ += p.memory();
      count_memory(0);
    };
    const bool all = co_await again.make(this->input(), count);
    if (all) co_return;
    refuse_state(this->metrics().name(),
                 "an element that its buffer held is not made any more: a function of the stages "
                 "before gives others, or fails");
  }

  const std::size_t capacity_;
  const std::optional<std::uint64_t> given_seed_;
  const random_engine initial_;
  random_engine random_;
  std::vector<place> places_;
  input_run<In> in_;
  row_positions<In> positions_;
  held_bytes* const memory_;  // none: without a budget, and nothing is counted
  // Known to memory_ since the declaration.
  const std::size_t least_ = memory_of(capacity_, sizeof(typename In::value_type));
  std::size_t counted_ = least_;  // by memory_
  std::size_t beside_ = 0;        // of the elements in all places
  bool ended_ = false;
  std::exception_ptr error_;

  const bool noting_;  // where the elements come from
  bool passes_on_ = false;
  buffer_origins held_;
  std::vector<origin> of_input_;  // of the present run of the input
  run_journal<run_begin> journal_;
};

}  // namespace leat::detail
