#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "leat/core/random.hpp"
#include "leat/pipeline/detail/stage.hpp"
#include "leat/pipeline/file_source.hpp"

namespace leat::detail {

/// Reads the records of files, of several in turn; see file_source.
template <class Reader>
class file_stage final : public stage<typename Reader::batch_type> {
 public:
  using batch = typename Reader::batch_type;

  file_stage(stage_metrics& metrics, file_source<Reader> source)
      : stage<batch>(metrics),
        source_(std::move(source)),
        random_(seed_or_entropy(source_.seed)),
        open_(source_.interleave) {}

  void start(pipeline_core&) override { this->metrics().add_task(); }

  task<bool> next(batch& run) override {
    const at_work here = this->working();
    run.clear();
    while (run.empty()) {
      if (closed_ == open_.size()) {
        const bool more = co_await begin_epoch();
        if (!more) co_return false;
      }
      if (!open_[turn_].ended) co_await take(open_[turn_], run);
      if (run.empty() || left_ == 0) {
        turn_ = (turn_ + 1) % open_.size();
        left_ = source_.block;
      }
    }
    std::size_t bytes = 0;
    for (const auto& record : run) bytes += record.size();
    this->metrics().add(run.size(), bytes);
    co_return true;
  }

 private:
  // One of the files that are read side by side, and what is read of it.
  struct open_file {
    std::unique_ptr<Reader> reader;
    batch read;
    std::size_t taken = 0;  // records of it
    std::size_t file = 0;   // index in paths_
    bool any = false;       // it has records
    bool ended = true;      // there is no file any more in this epoch
  };

  task<bool> begin_epoch() {
    if (epoch_ == 0) {
      paths_ = co_await find_files(source_.files, this->metrics().name());
      require_files_for(source_.world_size, paths_.size(), this->metrics().name());
      is_empty_.resize(paths_.size());
    }
    if (epoch_ == source_.num_epochs || nothing_is_left()) co_return false;
    order_.resize(paths_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (source_.shuffle) {
      random_engine random = random_.stream(epoch_);
      leat::shuffle(order_.begin(), order_.end(), random);
    }
    keep_own_files();
    ++epoch_;
    next_file_ = turn_ = closed_ = 0;
    left_ = source_.block;
    for (open_file& f : open_) f.ended = false;
    co_return true;
  }

  // Of the epoch's order those of this rank.
  void keep_own_files() {
    std::size_t kept = 0;
    for (std::uint64_t i = source_.rank; i < order_.size(); i += source_.world_size) {
      order_[kept++] = order_[i];
    }
    order_.resize(kept);
  }

  // Files without records would be read again and again: true when there are no others among those
  // that may be this rank's.
  [[nodiscard]] bool nothing_is_left() const {
    if (epoch_ == 0) return false;
    const auto is_empty = [this](std::size_t file) { return is_empty_[file]; };
    const bool others_next = source_.shuffle && source_.world_size > 1;
    if (!others_next) return std::ranges::all_of(order_, is_empty);
    return std::ranges::all_of(is_empty_, std::identity());
  }

  // Some records of a file, or of the one that comes in its place; none where no file is left.
  task<void> take(open_file& f, batch& run) {
    while (f.taken == f.read.size()) {
      if (!f.reader) {
        if (next_file_ == order_.size()) {
          f.ended = true;
          ++closed_;
          co_return;
        }
        f.file = order_[next_file_++];
        f.any = false;
        f.reader = co_await Reader::open(paths_[f.file], source_.reader);
      }
      f.taken = 0;
      const bool more = co_await f.reader->read_batch(f.read);
      f.any = f.any || more;
      if (!more) {
        is_empty_[f.file] = !f.any;
        f.reader.reset();
      }
    }
    if (open_.size() == 1 && f.taken == 0) {
      std::swap(run, f.read);
      f.read.clear();
    } else {
      const std::size_t count = std::min(left_, f.read.size() - f.taken);
      run = f.read.slice(f.taken, count);
      f.taken += count;
      left_ -= count;
    }
  }

  const file_source<Reader> source_;
  const random_engine random_;
  std::vector<std::string> paths_;
  std::vector<bool> is_empty_;      // of these, as far as is known
  std::vector<std::size_t> order_;  // of this epoch: indices in paths_
  std::uint64_t epoch_ = 0;         // epochs that have begun
  std::size_t next_file_ = 0;
  std::vector<open_file> open_;
  std::size_t closed_ = open_.size();  // of these
  std::size_t turn_ = 0;               // whose turn it is
  std::size_t left_ = 0;               // records that it still has to give in this turn
};

}  // namespace leat::detail
