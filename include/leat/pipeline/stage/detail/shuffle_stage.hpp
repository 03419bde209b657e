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

namespace LEAT::detail {

/// The elements of a shuffle buffer, slot by slot, and the count of numbers drawn.
class shuffle_state final : public stage_state {
 public:
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;
  std::vector<origin> held = {};
  bool is_share = false;  ///< of the elements of several ranks: the seed is one of theirs

  std::string write() const override;
  void read(std::string_view own, const std::vector<setting>& settings) override;
  std::string_view rank_bond() const noexcept override;
  void merge(const std::vector<const stage_state*>& ranks, rank_share& share) override;
};

/// Delivers elements drawn at random from a buffer that is kept full while the input lasts. If a
/// restore filled the buffer beyond its capacity, delivers the surplus first.
template <class In>
class shuffle_stage final : public inner_stage<In, owned_block<In>> {
 public:
  using out = owned_block<In>;
  using sink = typename stage<out>::sink;

  shuffle_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, memory_use& memory,
                std::size_t capacity, std::optional<std::uint64_t> seed)
      : inner_stage<In, out>(std::move(input), metrics),
        capacity_(capacity),
        given_seed_(seed),
        initial_(seed_or_random(seed)),
        random_(initial_),
        memory_(memory.limited() ? &memory : nullptr),
        origins_enabled_(this->input().save_error().empty() &&
                         !this->input().origins_are_batches() && this->input().enable_origins()) {
    metrics.set_capacity(capacity);
  }

  task<bool> next(out& block) override {
    const stage_work_timer here = this->working();
    block.clear();
    if constexpr (is_rows) block.keep_paths(positions_.paths());
    replay_log_.begin({now()});
    while (block.size() < block_size) {
      if (in_.left() == 0 && !ended_) {
        co_await refill();
        if (error_ && !block.empty()) break;
        if (error_) std::rethrow_exception(error_);
        if constexpr (is_rows) block.keep_paths(positions_.paths());
        if (memory_) count_memory(memory_of(block));
      }
      if (ended_ && slots_.empty()) break;
      draw(block);
    }
    count_block(this->metrics(), block);
    this->metrics().set_held(static_cast<std::int64_t>(slots_.size()));
    if (memory_) count_memory(memory_of(block));
    co_return !block.empty();
  }

  std::string save_error() const override {
    std::string before = this->input().save_error();
    if (origins_enabled_ || !before.empty()) return before;
    return "stage '" + this->metrics().name() +
           "' buffers elements of several records; call shuffle() before batch()";
  }
  saved_stage describe() const override {
    return {.kind = "shuffle",
            .name = this->metrics().name(),
            .settings = {{"capacity", capacity_}},
            .make = &make_state<shuffle_state>};
  }
  block_position save(block_position before, batch_numbers&, std::string& own) const override {
    const stream_position at = position_before(before);
    shuffle_state s;
    s.seed = random_.seed();
    s.draws = at.draws;
    s.held = held_.at(at.held);
    own = s.write();
    return at.input;
  }
  void forget(std::uint64_t block) noexcept override {
    replay_log_.forget(block);
    const stream_position at = position_at(block);
    held_.forget(at.held);
    this->input().forget(at.input.block);
  }
  task<void> restore(stage_state& state) override {
    auto& s = static_cast<shuffle_state&>(state);
    if (s.is_share) s.seed = given_seed_.value_or(s.seed);
    require_seed(this->metrics().name(), given_seed_, s.seed);
    random_ = random_engine(s.seed, s.draws);
    co_await refill_buffer(s.held);
    held_.assign(std::move(s.held));
  }
  void rewind() noexcept override {
    in_.restart();
    empty();
    held_.assign({});
    random_ = initial_;
  }

  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    replay_log_.take_origins(block, all);
  }
  bool enable_origins() override {
    origins_requested_ = origins_enabled_;
    return origins_enabled_;
  }
  task<void> replay(std::span<const origin> records, sink to) override {
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
    co_await this->input().replay(records, pass_on);
  }

 private:
  static constexpr std::size_t block_size = 64;
  using slot = typename element_replay<In>::slot;
  static constexpr bool is_rows = requires(const slot& p) { p.position(); };

  struct stream_position {
    block_position input;
    std::uint64_t draws = 0;
    buffer_origins::mark held;
  };
  // The position of the stage when it began to draw, as the number of elements of its block
  // delivered until then. The elements that replaced the drawn ones came from one block of the
  // input.
  struct drawing {
    std::uint64_t given = 0;
    stream_position at;
  };
  // The position at the beginning of a block, and the origins of that block's elements.
  struct log_entry {
    stream_position at;
    std::vector<origin> origins = {};
    std::vector<drawing> draws = {};
  };

  [[nodiscard]] stream_position now() const {
    return {in_.next(), random_.position(), held_.now()};
  }
  [[nodiscard]] stream_position position_at(std::uint64_t block) const {
    const log_entry* const begin = replay_log_.find(block);
    return begin ? begin->at : now();
  }
  // The position before an element.
  [[nodiscard]] stream_position position_before(block_position before) const {
    stream_position at = position_at(before.block);
    std::uint64_t left = before.element;
    const log_entry* const begin = replay_log_.find(before.block);
    if (!begin || left == 0) return at;
    for (const drawing& d : begin->draws) {
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

  // The memory that the buffer has added since the last look, with the current and the next block.
  void count_memory(std::size_t block_memory) {
    constexpr std::size_t slot_size = 112 + sizeof(slot);  // its origin, and growth
    const std::size_t bytes = slots_.size() * slot_size + 2 * block_memory + indirect_bytes_;
    counts_as(bytes);
    memory_->require(this->metrics().name(), bytes);
  }
  void counts_as(std::size_t bytes) noexcept {
    memory_->add(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(counted_));
    counted_ = bytes;
  }
  void empty() noexcept {
    slots_.clear();
    indirect_bytes_ = 0;
    if (memory_) counts_as(least_);
  }

  // An error is thrown by the call that has no elements to deliver.
  task<void> refill() {
    if (error_) co_return;
    try {
      ended_ =
          !co_await this->pull(this->input(), in_, origins_enabled_ ? &input_origins_ : nullptr);
      if (!ended_) positions_.begin(in_.block());
    } catch (...) {
      error_ = std::current_exception();
      in_.clear();
    }
  }

  // Prefetches the slot that is drawn some steps later, since no cache contains it, and the memory
  // of the next slot. At the end of the input, another slot may be drawn.
  void prefetch_later() const noexcept {
    constexpr std::uint64_t far = 8;
    const std::size_t later = drawn_after(far);
    prefetch_object(slots_[later]);
    if (origins_enabled_) prefetch_line(&held_[later]);
    slots_[drawn_after(0)].prefetch();
  }
  [[nodiscard]] std::size_t drawn_after(std::uint64_t steps) const noexcept {
    random_engine ahead(random_.seed(), random_.position() + steps);
    return static_cast<std::size_t>(ahead.uniform_below(slots_.size()));
  }

  // Draws as many elements as the current block of the input allows.
  void draw(out& block) {
    while (slots_.size() < capacity_ && !ended_) {
      if (in_.left() == 0) return;
      if (origins_enabled_) held_.add(input_origins_[in_.taken()]);
      grow();
      put_next(slots_.emplace_back());
    }
    if (origins_enabled_) replay_log_.last().draws.push_back({block.size(), now()});
    while (block.size() < block_size && !slots_.empty()) {
      const bool leaves = ended_ || slots_.size() > capacity_;
      if (!leaves && in_.left() == 0) return;
      const auto drawn = static_cast<std::size_t>(random_.uniform_below(slots_.size()));
      if (origins_requested_) replay_log_.last().origins.push_back(held_[drawn]);
      slot& p = slots_[drawn];
      prefetch_later();
      if (memory_) indirect_bytes_ -= p.memory();
      if constexpr (is_rows) {
        block.push_back(p.take(), p.position());
      } else {
        block.push_back(p.take());
      }
      if (leaves) {
        if (origins_enabled_) held_.remove(drawn);
        std::swap(p, slots_.back());
        slots_.pop_back();
      } else {
        if (origins_enabled_) held_.replace(drawn, input_origins_[in_.taken()]);
        put_next(p);
      }
    }
  }

  // Does not double the capacity beyond the size that the buffer can reach.
  void grow() {
    if (slots_.size() < slots_.capacity()) return;
    slots_.reserve(std::min(capacity_, std::max(block_size, 2 * slots_.size())));
  }

  // Moves the next element of the input into a slot.
  void put_next(slot& p) {
    if constexpr (is_rows) {
      const record_position from = positions_.of(in_.block(), in_.taken());
      p.put(in_.take(), from);
    } else {
      p.put(in_.take());
    }
    if (memory_) indirect_bytes_ += p.memory();
  }

  task<void> refill_buffer(const std::vector<origin>& held) {
    empty();
    slots_.resize(held.size());
    // With a memory budget, rows have separate memory, which is freed with them.
    row_memory rows;
    element_replay<In> elements(slots_, held, positions_, memory_ ? nullptr : &rows);
    const auto count = [this](const slot& p) {
      if (!memory_) return;
      indirect_bytes_ += p.memory();
      count_memory(0);
    };
    const bool all = co_await elements.make(this->input(), count);
    if (all) co_return;
    throw_state_error(
        this->metrics().name(),
        "an element of the buffer could not be produced again; functions of earlier stages "
        "must return the same elements again");
  }

  const std::size_t capacity_;
  const std::optional<std::uint64_t> given_seed_;
  const random_engine initial_;
  random_engine random_;
  std::vector<slot> slots_;
  input_block<In> in_;
  row_positions<In> positions_;
  memory_use* const memory_;  // null: no memory budget, and nothing is counted
  // Known to memory_ since the declaration.
  const std::size_t least_ = memory_of(capacity_, sizeof(typename In::value_type));
  std::size_t counted_ = least_;    // by memory_
  std::size_t indirect_bytes_ = 0;  // of the elements in all slots
  bool ended_ = false;
  std::exception_ptr error_;

  const bool origins_enabled_;  // origins are recorded
  bool origins_requested_ = false;
  buffer_origins held_;
  std::vector<origin> input_origins_;  // of the current block of the input
  replay_log<log_entry> replay_log_;
};

}  // namespace LEAT::detail
