#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/batch_remainder.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/element/detail/owned_block.hpp"
#include "leat/pipeline/element/detail/row_positions.hpp"
#include "leat/pipeline/stage/detail/element_replay.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace leat::detail {

/// Collects elements in batches of one size.
///
/// A batch is known by its number: first those of the state that was restored are counted, then its
/// runs. By the origins of its elements it can be put together again.
template <class In>
class batch_stage final : public inner_stage<In, std::vector<owned_run<In>>> {
 public:
  using batch = owned_run<In>;
  using run_type = std::vector<batch>;
  using sink = typename stage<run_type>::sink;

  batch_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, std::size_t size,
              batch_remainder last)
      : inner_stage<In, run_type>(std::move(input), metrics), size_(size), last_(last) {}

  void start(pipeline_core& core) override {
    core_ = &core;
    inner_stage<In, run_type>::start(core);
  }

  task<bool> next(std::vector<batch>& run) override {
    const at_work here = this->working();
    batch b = last_of(run);
    run.clear();
    journal_.begin({in_.next()});
    make_room(b);
    beside_ = 0;
    while (b.size() < size_) {
      if (in_.left() == 0) {
        if (ended_) break;
        ended_ = !co_await this->pull(this->input(), in_, noting_ ? &of_input_ : nullptr);
        if (ended_) break;
        positions_.begin(in_.run());
      }
      add_some(b);
      if (core_->memory().limited()) count_memory(b);
    }
    if (b.empty() || (b.size() < size_ && last_ == batch_remainder::drop)) {
      core_->add_dropped(b.size());
      co_return false;
    }
    count_run(this->metrics(), b);
    if constexpr (has_bytes) bytes_ = b.bytes();
    run.push_back(std::move(b));
    co_return true;
  }

  void describe(std::vector<stage_state>& stages) const override {
    this->input().describe(stages);
    stages.push_back(description());
  }
  void save(run_place before, batch_numbers& batches,
            std::vector<stage_state>& stages) const override {
    std::vector<std::vector<origin>> made_of;
    batch_numbers of_input;
    for (const std::uint64_t number : batches.all()) {
      made_of.push_back(origins_of(number));
      if (!this->input().comes_of_batches()) continue;
      for (origin& o : made_of.back()) o.index = of_input.index_of(o.index);
    }
    this->input().save(where(before.run + before.element), of_input, stages);
    stages.push_back(description());
    stages.back().batches = std::move(made_of);
  }
  void forget(std::uint64_t run) noexcept override {
    journal_.forget(run);
    this->input().forget(where(run).run);
  }
  task<void> restore(std::span<stage_state> stages) override {
    co_await this->input().restore(stages.first(stages.size() - 1));
    again_ = std::move(stages.back().batches);
    numbered_ = again_.size();
  }
  void rewind() noexcept override {
    this->input().rewind();
    in_.restart();
    again_.clear();
    numbered_ = 0;
  }

  bool note_origins() override {
    noting_ = this->input().note_origins();
    return noting_;
  }
  bool comes_of_batches() const noexcept override { return true; }
  void take_origins(std::uint64_t run, std::vector<origin>& all) override {
    all.assign(1, {.index = numbered_ + run});
  }
  // One after the other, so that no more than one is in memory.
  task<void> make_again(std::span<const origin> batches, sink to) override {
    for (const origin& b : batches) {
      const std::vector<origin>& made_of = again_[static_cast<std::size_t>(b.index)];
      std::vector<place_again> places(made_of.size());
      elements_again<In, place_again> again(places, made_of, positions_);
      const auto nothing = [](const auto&) {};
      const bool all = co_await again.make(this->input(), nothing);
      if (!all) {
        refuse_state(this->metrics().name(),
                     "an element of a batch, of which a part was had, is not made any more: a "
                     "function of the stages before gives others, or fails");
      }
      run_type run;
      run.push_back(put_together(places));
      to(run, std::span(&b, 1));
      co_await yield_if_due();
    }
  }

 private:
  static constexpr bool has_bytes = requires(const batch& b) { b.bytes(); };

  using value = typename batch::value_type;
  using place_again =
      std::conditional_t<has_bytes, typename place_in<batch>::type, empty_place<value>>;

  // Where the stage stood at the beginning of a run, and of what that run's batch was made.
  struct place {
    run_place input;
    std::vector<origin> origins = {};
  };

  // Precondition: the batch is one of the state, or its run is not forgotten.
  [[nodiscard]] const std::vector<origin>& origins_of(std::uint64_t number) const noexcept {
    if (number < numbered_) return again_[static_cast<std::size_t>(number)];
    return journal_.find(number - numbered_)->origins;
  }

  [[nodiscard]] batch put_together(std::vector<place_again>& places) const {
    batch b;
    make_room(b);
    if constexpr (has_bytes) b.keep_paths(positions_.paths());
    for (auto& p : places) {
      if constexpr (has_bytes) {
        b.push_back(p.take(), p.position());
      } else {
        b.push_back(p.take());
      }
    }
    return b;
  }

  // As many as it takes of the present run.
  void add_some(batch& b) {
    if constexpr (has_bytes) b.keep_paths(positions_.paths());
    for (std::size_t n = std::min(size_ - b.size(), in_.left()); n > 0; --n) {
      if (noting_) journal_.last().origins.push_back(of_input_[in_.taken()]);
      if constexpr (has_bytes) {
        const record_position from = positions_.of(in_.run(), in_.taken());
        b.push_back(in_.take(), from);
      } else {
        b.push_back(in_.take());
        if (core_->memory().limited()) beside_ += memory_beside(b.back());
      }
    }
  }

  // The largest batch so far has room, whoever it goes to.
  void count_memory(const batch& b) {
    std::size_t bytes = b.size() * sizeof(typename batch::value_type) + beside_;
    if constexpr (has_bytes) bytes += b.bytes() + b.bytes() / 8;
    if (bytes <= counted_) return;
    core_->memory().require(this->metrics().name(), bytes);
    core_->memory().add(static_cast<std::int64_t>(bytes - counted_));
    counted_ = bytes;
  }

  // An empty batch; of elements with the memory of the last one, where nobody has taken that.
  [[nodiscard]] static batch last_of(std::vector<batch>& run) noexcept {
    batch b;
    if constexpr (!has_bytes) {
      if (!run.empty()) b = std::move(run.back());
      b.clear();
    }
    return b;
  }

  // For as much as the batch before had, and some more.
  void make_room(batch& b) const {
    const std::size_t count = std::min(size_, std::size_t{1} << 16);
    if constexpr (has_bytes) {
      b.reserve(count, bytes_ + bytes_ / 8);
    } else {
      b.reserve(count);
    }
  }

  // A run has one element, so its beginning is the only place in it.
  [[nodiscard]] run_place where(std::uint64_t run) const noexcept {
    const place* const at = journal_.find(run);
    return at ? at->input : in_.next();
  }
  [[nodiscard]] stage_state description() const {
    return {.kind = "batch",
            .name = this->metrics().name(),
            .settings = {{"size", size_}, {"drop the remainder", last_ == batch_remainder::drop}}};
  }

  const std::size_t size_;
  const batch_remainder last_;
  pipeline_core* core_ = nullptr;
  input_run<In> in_;
  row_positions<In> positions_;
  std::size_t bytes_ = 0;    // of the last batch
  std::size_t beside_ = 0;   // the elements of the present one
  std::size_t counted_ = 0;  // in the memory_budget
  bool ended_ = false;
  run_journal<place> journal_;

  bool noting_ = false;           // what batches are made of
  std::vector<origin> of_input_;  // of the present run of the input
  // What those of the state were made of. Kept to the end: stages behind may be in the midst of one
  // when runs of this stage are forgotten, of which nothing came.
  std::vector<std::vector<origin>> again_;
  std::uint64_t numbered_ = 0;  // of these there were so many
};

}  // namespace leat::detail
