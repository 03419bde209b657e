#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "leat/core/random.hpp"
#include "leat/io/record_batch.hpp"
#include "leat/io/record_selection.hpp"
#include "leat/pipeline/batcher.hpp"
#include "leat/pipeline/detail/stage.hpp"
#include "leat/pipeline/rows.hpp"
#include "leat/sync/fifo_queue.hpp"

namespace leat::detail {

/// The run that holds elements which a run lent, or moved: views get memory of their own.
template <class Run>
struct owned {
  using type = Run;
};
template <class View>
struct owned<basic_record_batch<View>> {
  using type = basic_rows<View>;
};
template <>
struct owned<record_selection> {
  using type = record_rows;
};
template <class Run>
using owned_run = typename owned<Run>::type;

/// One place of a shuffle buffer that holds elements.
template <class Element>
struct element_place {
  void put(Element&& e) { element = std::move(e); }
  Element&& take() noexcept { return std::move(element); }
  Element element{};
};

/// One that holds the bytes of a row: their memory is used again, but what one large row needed is
/// not kept for small ones.
template <class View>
struct row_place {
  void put(View v) {
    if (bytes.capacity() / 4 > std::max(v.size(), std::size_t{256})) bytes = {};
    const auto* const from = reinterpret_cast<const char*>(v.data());
    bytes.assign(from, from + v.size());
  }
  [[nodiscard]] View take() const noexcept {
    return View(reinterpret_cast<typename View::const_pointer>(bytes.data()), bytes.size());
  }
  std::vector<char> bytes;
};

/// What holds an element of a run.
template <class Run>
struct place_in {
  using type = element_place<typename Run::value_type>;
};
template <class View>
struct place_in<basic_rows<View>> {
  using type = row_place<View>;
};

/// Gives elements drawn at random from a buffer that is kept full while the input lasts.
template <class In>
class shuffle_stage final : public stage<owned_run<In>> {
 public:
  using out = owned_run<In>;

  shuffle_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, std::size_t capacity,
                std::uint64_t seed)
      : stage<out>(metrics), input_(std::move(input)), capacity_(capacity), random_(seed) {}

  void start(pipeline_core& core) override {
    this->metrics().add_task();
    input_->start(core);
  }

  task<bool> next(out& run) override {
    const at_work here = this->working();
    run.clear();
    while (run.size() < run_size) {
      if (in_.left() == 0 && !ended_) {
        co_await refill();
        if (error_ && !run.empty()) break;
        if (error_) std::rethrow_exception(error_);
      }
      if (ended_ && places_.empty()) break;
      draw(run);
    }
    this->metrics().add(run.size(), 0);
    co_return !run.empty();
  }

 private:
  static constexpr std::size_t run_size = 64;
  using place = typename place_in<out>::type;

  // What goes wrong is for the call that has nothing to give.
  task<void> refill() {
    if (error_) co_return;
    try {
      ended_ = !co_await this->pull(*input_, in_.renew());
    } catch (...) {
      error_ = std::current_exception();
    }
    if (ended_ || error_) in_.clear();
  }

  // As many elements as the present run of the input allows.
  void draw(out& run) {
    while (run.size() < run_size) {
      if (places_.size() < capacity_ && !ended_) {
        if (in_.left() == 0) return;
        places_.emplace_back().put(in_.take());
      } else {
        if (places_.empty() || (!ended_ && in_.left() == 0)) return;
        place& p = places_[random_.below(places_.size())];
        run.push_back(p.take());
        if (ended_) {
          std::swap(p, places_.back());
          places_.pop_back();
        } else {
          p.put(in_.take());
        }
      }
    }
  }

  const std::unique_ptr<stage<In>> input_;
  const std::size_t capacity_;
  random_engine random_;
  std::vector<place> places_;
  input_run<In> in_;
  bool ended_ = false;
  std::exception_ptr error_;
};

/// Collects elements in batches of one size.
template <class In>
class batch_stage final : public stage<std::vector<owned_run<In>>> {
 public:
  using batch = owned_run<In>;

  batch_stage(std::unique_ptr<stage<In>> input, stage_metrics& metrics, std::size_t size,
              remainder last)
      : stage<std::vector<batch>>(metrics), input_(std::move(input)), size_(size), last_(last) {}

  void start(pipeline_core& core) override {
    core_ = &core;
    this->metrics().add_task();
    input_->start(core);
  }

  task<bool> next(std::vector<batch>& run) override {
    const at_work here = this->working();
    run.clear();
    batch b = fresh();
    while (b.size() < size_) {
      if (in_.left() == 0) {
        if (ended_) break;
        const bool more = co_await this->pull(*input_, in_.renew());
        if (!more) {
          ended_ = true;
          in_.clear();
          break;
        }
      }
      for (std::size_t n = std::min(size_ - b.size(), in_.left()); n > 0; --n) {
        b.push_back(in_.take());
      }
    }
    if (b.empty() || (b.size() < size_ && last_ == remainder::drop)) {
      core_->add_dropped(b.size());
      co_return false;
    }
    this->metrics().add(b.size(), 0);
    if constexpr (has_bytes) bytes_ = b.bytes();
    run.push_back(std::move(b));
    co_return true;
  }

 private:
  static constexpr bool has_bytes = requires(const batch& b) { b.bytes(); };

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

  const std::unique_ptr<stage<In>> input_;
  const std::size_t size_;
  const remainder last_;
  pipeline_core* core_ = nullptr;
  input_run<In> in_;
  std::size_t bytes_ = 0;  // of the last batch
  bool ended_ = false;
};

/// Runs the stages before in a task of their own, some runs ahead of the consumer.
template <class Run>
class prefetch_stage final : public stage<Run> {
 public:
  prefetch_stage(std::unique_ptr<stage<Run>> input, stage_metrics& metrics, std::size_t runs)
      : stage<Run>(metrics), input_(std::move(input)), queue_(runs, metrics.name()) {}

  void start(pipeline_core& core) override {
    this->metrics().add_task();
    input_->start(core);
    core.spawn(fill(), this->metrics(), "input");
  }

  task<bool> next(Run& run) override {
    std::optional<Run> made = co_await queue_.pop();
    if (!made) co_return false;
    run = std::move(*made);
    co_return true;
  }

 private:
  task<void> fill() {
    const at_work here = this->working();
    std::exception_ptr error;
    try {
      for (;;) {
        Run run;
        const bool more = co_await this->pull(*input_, run);
        if (!more) break;
        this->metrics().add(run.size(), 0);
        const waiting w = this->waits(waiting::for_room);
        const bool taken = co_await queue_.push(std::move(run));
        if (!taken) break;
      }
    } catch (...) {
      error = std::current_exception();
    }
    end_queue(queue_, error);
  }

  const std::unique_ptr<stage<Run>> input_;
  fifo_queue<Run> queue_;
};

}  // namespace leat::detail
