#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/base/batch_remainder.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/element/detail/owned_block.hpp"
#include "leat/pipeline/element/detail/row_positions.hpp"
#include "leat/pipeline/stage/detail/element_replay.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

inline constexpr const char* batch_size_setting = "size";

/// The elements of each batch that later stages need again, in the order in which the last of them
/// first needs them.
class batch_state final : public stage_state {
 public:
  std::vector<std::vector<origin>> batches = {};

  std::string write() const override;
  void read(std::string_view own, const std::vector<setting>& settings) override;
  void merge(const std::vector<const stage_state*>& ranks, rank_share& share) override;
  bool makes_batches() const noexcept override { return true; }
  void number_batches(batch_numbers& wanted, bool of_batches) override;
};

/// Collects elements in batches of one size.
///
/// Batches are numbered: first those of the restored state, then the blocks of this stage. The
/// origins of its elements allow a batch to be rebuilt.
template <class In>
class batch_stage final : public inner_stage<In, std::vector<owned_block<In>>> {
 public:
  using batch = owned_block<In>;
  using block_type = std::vector<batch>;
  using sink = typename stage<block_type>::sink;

  batch_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, std::size_t size,
              batch_remainder last)
      : inner_stage<In, block_type>(std::move(input), metrics), size_(size), last_(last) {}

  void start(pipeline_context& context) override {
    context_ = &context;
    inner_stage<In, block_type>::start(context);
  }

  task<bool> next(std::vector<batch>& block) override {
    const stage_work_timer here = this->working();
    batch b = reuse_last(block);
    block.clear();
    replay_log_.begin({in_.next()});
    reserve_batch(b);
    indirect_bytes_ = 0;
    while (b.size() < size_) {
      if (in_.left() == 0) {
        if (ended_) break;
        ended_ =
            !co_await this->pull(this->input(), in_, origins_enabled_ ? &input_origins_ : nullptr);
        if (ended_) break;
        positions_.begin(in_.block());
      }
      add_some(b);
      if (context_->memory().limited()) count_memory(b);
    }
    if (b.empty() || (b.size() < size_ && last_ == batch_remainder::drop)) {
      context_->add_dropped(b.size());
      co_return false;
    }
    count_block(this->metrics(), b);
    if constexpr (has_bytes) bytes_ = b.bytes();
    block.push_back(std::move(b));
    co_return true;
  }

  saved_stage describe() const override {
    return {.kind = "batch",
            .name = this->metrics().name(),
            .settings = {{batch_size_setting, size_},
                         {"drop the remainder", last_ == batch_remainder::drop}},
            .make = &make_state<batch_state>};
  }
  block_position save(block_position before, batch_numbers& batches,
                      std::string& own) const override {
    batch_state s;
    batch_numbers input_batches;
    for (const std::uint64_t number : batches.all()) {
      s.batches.push_back(origins_of(number));
      if (!this->input().origins_are_batches()) continue;
      for (origin& o : s.batches.back()) input_batches.renumber(o);
    }
    batches = std::move(input_batches);
    own = s.write();
    return position_at(before.block + before.element);
  }
  void forget(std::uint64_t block) noexcept override {
    replay_log_.forget(block);
    this->input().forget(position_at(block).block);
  }
  task<void> restore(stage_state& state) override {
    batches_to_replay_ = std::move(static_cast<batch_state&>(state).batches);
    restored_count_ = batches_to_replay_.size();
    co_return;
  }
  void rewind() noexcept override {
    in_.restart();
    batches_to_replay_.clear();
    restored_count_ = 0;
  }

  bool enable_origins() override {
    origins_enabled_ = this->input().enable_origins();
    return origins_enabled_;
  }
  bool origins_are_batches() const noexcept override { return true; }
  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    all.assign(1, {.index = restored_count_ + block});
  }
  // One after another, so that at most one is in memory.
  task<void> replay(std::span<const origin> batches, sink to) override {
    for (const origin& b : batches) {
      const std::vector<origin>& made_of = batches_to_replay_[static_cast<std::size_t>(b.index)];
      std::vector<replay_slot> slots(made_of.size());
      element_replay<In, replay_slot> elements(slots, made_of, positions_);
      const auto nothing = [](const auto&) {};
      const bool all = co_await elements.make(this->input(), nothing);
      if (!all) {
        throw_state_error(this->metrics().name(),
                          "an element of a partly consumed batch could not be produced again; "
                          "functions of earlier stages must be deterministic");
      }
      block_type block;
      block.push_back(assemble_batch(slots));
      to(block, std::span(&b, 1));
      co_await yield_turn("pipeline");
    }
  }

 private:
  static constexpr bool has_bytes = requires(const batch& b) { b.bytes(); };

  using value = typename batch::value_type;
  using replay_slot =
      std::conditional_t<has_bytes, typename slot_for<batch>::type, optional_slot<value>>;

  // The position of the stage at the beginning of a block, and what its batch was made of.
  struct log_entry {
    block_position input;
    std::vector<origin> origins = {};
  };

  // Precondition: the batch is one of the state, or its block is not forgotten.
  [[nodiscard]] const std::vector<origin>& origins_of(std::uint64_t number) const noexcept {
    if (number < restored_count_) return batches_to_replay_[static_cast<std::size_t>(number)];
    return replay_log_.find(number - restored_count_)->origins;
  }

  [[nodiscard]] batch assemble_batch(std::vector<replay_slot>& slots) const {
    batch b;
    reserve_batch(b);
    if constexpr (has_bytes) b.keep_paths(positions_.paths());
    for (auto& p : slots) {
      if constexpr (has_bytes) {
        b.push_back(p.take(), p.position());
      } else {
        b.push_back(p.take());
      }
    }
    return b;
  }

  // Takes as many elements of the current block as the batch needs.
  void add_some(batch& b) {
    if constexpr (has_bytes) b.keep_paths(positions_.paths());
    for (std::size_t n = std::min(size_ - b.size(), in_.left()); n > 0; --n) {
      if (origins_enabled_) replay_log_.last().origins.push_back(input_origins_[in_.taken()]);
      if constexpr (has_bytes) {
        const record_position from = positions_.of(in_.block(), in_.taken());
        b.push_back(in_.take(), from);
      } else {
        b.push_back(in_.take());
        if (context_->memory().limited()) indirect_bytes_ += indirect_memory(b.back());
      }
    }
  }

  // Counts the memory of the largest batch so far, even after the batch was passed on.
  void count_memory(const batch& b) {
    std::size_t bytes = b.size() * sizeof(typename batch::value_type) + indirect_bytes_;
    if constexpr (has_bytes) bytes += b.bytes() + b.bytes() / 8;
    if (bytes <= counted_) return;
    context_->memory().require(this->metrics().name(), bytes);
    context_->memory().add(static_cast<std::int64_t>(bytes - counted_));
    counted_ = bytes;
  }

  // Returns an empty batch. It reuses the memory of the last one unless its elements were moved.
  [[nodiscard]] static batch reuse_last(std::vector<batch>& block) noexcept {
    batch b;
    if constexpr (!has_bytes) {
      if (!block.empty()) b = std::move(block.back());
      b.clear();
    }
    return b;
  }

  // Reserves the memory of the previous batch, and some more.
  void reserve_batch(batch& b) const {
    const std::size_t count = std::min(size_, std::size_t{1} << 16);
    if constexpr (has_bytes) {
      b.reserve(count, bytes_ + bytes_ / 8);
    } else {
      b.reserve(count);
    }
  }

  // A block has one element, so its beginning is the only position in it.
  [[nodiscard]] block_position position_at(std::uint64_t block) const noexcept {
    const log_entry* const at = replay_log_.find(block);
    return at ? at->input : in_.next();
  }

  const std::size_t size_;
  const batch_remainder last_;
  pipeline_context* context_ = nullptr;
  input_block<In> in_;
  row_positions<In> positions_;
  std::size_t bytes_ = 0;           // of the last batch
  std::size_t indirect_bytes_ = 0;  // of the elements of the current batch
  std::size_t counted_ = 0;         // in the memory_budget
  bool ended_ = false;
  replay_log<log_entry> replay_log_;

  bool origins_enabled_ = false;       // of the elements of batches
  std::vector<origin> input_origins_;  // of the current block of the input
  // The elements of the batches of the state. They are kept to the end: later stages may have
  // partly consumed one when blocks of this stage that produced nothing are forgotten.
  std::vector<std::vector<origin>> batches_to_replay_;
  std::uint64_t restored_count_ = 0;  // of these there were so many
};

}  // namespace LEAT::detail
