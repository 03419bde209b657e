#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/batcher.hpp"
#include "leat/pipeline/detail/held_bytes.hpp"
#include "leat/pipeline/detail/owned_run.hpp"
#include "leat/pipeline/detail/row_positions.hpp"
#include "leat/pipeline/detail/run_bytes.hpp"
#include "leat/pipeline/detail/run_journal.hpp"
#include "leat/pipeline/detail/stage.hpp"

namespace leat::detail {

/// Collects elements in batches of one size.
template <class In>
class batch_stage final : public inner_stage<In, std::vector<owned_run<In>>> {
 public:
  using batch = owned_run<In>;
  using run_type = std::vector<batch>;
  using sink = typename stage<run_type>::sink;

  batch_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, std::size_t size,
              remainder last)
      : inner_stage<In, run_type>(std::move(input), metrics), size_(size), last_(last) {}

  void start(pipeline_core& core) override {
    core_ = &core;
    inner_stage<In, run_type>::start(core);
  }

  task<bool> next(std::vector<batch>& run) override {
    const at_work here = this->working();
    run.clear();
    journal_.begin(in_.next());
    batch b = fresh();
    beside_ = 0;
    while (b.size() < size_) {
      if (in_.left() == 0) {
        if (ended_) break;
        ended_ = !co_await this->pull(this->input(), in_);
        if (ended_) break;
        positions_.begin(in_.run());
      }
      add_some(b);
      if (core_->memory().limited()) count_memory(b);
    }
    if (b.empty() || (b.size() < size_ && last_ == remainder::drop)) {
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
  void save(run_place before, std::vector<stage_state>& stages) const override {
    this->input().save(where(before.run), stages);
    stages.push_back(description());
  }
  void forget(std::uint64_t run) noexcept override {
    journal_.forget(run);
    this->input().forget(where(run).run);
  }
  task<void> restore(std::span<stage_state> stages) override {
    co_await this->input().restore(stages.first(stages.size() - 1));
    in_.restart(this->input().to_skip());
  }
  void rewind() noexcept override {
    this->input().rewind();
    in_.restart(0);
  }

  bool note_origins() override { return false; }
  void take_origins(std::uint64_t, std::vector<origin>&) override {}
  task<void> make_again(std::span<const origin>, sink) override { co_return; }

 private:
  static constexpr bool has_bytes = requires(const batch& b) { b.bytes(); };

  // As many as it takes of the present run.
  void add_some(batch& b) {
    if constexpr (has_bytes) b.keep_paths(positions_.paths());
    for (std::size_t n = std::min(size_ - b.size(), in_.left()); n > 0; --n) {
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

  // With memory for as much as the batch before had, and some more.
  [[nodiscard]] batch fresh() const {
    const std::size_t count = std::min(size_, std::size_t{1} << 16);
    batch b;
    if constexpr (has_bytes) {
      b.reserve(count, bytes_ + bytes_ / 8);
    } else {
      b.reserve(count);
    }
    return b;
  }

  // A run has one element, so its beginning is the only place in it.
  [[nodiscard]] run_place where(std::uint64_t run) const noexcept {
    const run_place* const at = journal_.find(run);
    return at ? *at : in_.next();
  }
  [[nodiscard]] stage_state description() const {
    return {.kind = "batch",
            .name = this->metrics().name(),
            .settings = {{"size", size_}, {"drop the remainder", last_ == remainder::drop}}};
  }

  const std::size_t size_;
  const remainder last_;
  pipeline_core* core_ = nullptr;
  input_run<In> in_;
  row_positions<In> positions_;
  std::size_t bytes_ = 0;    // of the last batch
  std::size_t beside_ = 0;   // the elements of the present one
  std::size_t counted_ = 0;  // in the memory_budget
  bool ended_ = false;
  run_journal<run_place> journal_;
};

}  // namespace leat::detail
