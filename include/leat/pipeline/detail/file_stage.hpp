#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/core/random.hpp"
#include "leat/pipeline/detail/stage.hpp"
#include "leat/pipeline/file_source.hpp"
#include "leat/pipeline/match_files.hpp"

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
    bool ended = true;      // there is no file any more in this epoch
  };

  task<bool> begin_epoch() {
    if (epoch_ == 0) {
      paths_ = co_await match_files(source_.files);
      require_files(paths_, source_.files, this->metrics().name());
    }
    // An epoch without a record would be repeated for ever.
    const bool nothing = epoch_ > 0 && this->metrics().records() == 0;
    if (nothing || epoch_ == source_.num_epochs) co_return false;
    order_ = paths_;
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
      order_[kept++] = std::move(order_[i]);
    }
    order_.resize(kept);
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
        f.reader = co_await Reader::open(order_[next_file_++], source_.reader);
      }
      f.taken = 0;
      const bool more = co_await f.reader->read_batch(f.read);
      if (!more) f.reader.reset();
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
  std::vector<std::string> order_;  // of this epoch
  std::uint64_t epoch_ = 0;         // epochs that have begun
  std::size_t next_file_ = 0;
  std::vector<open_file> open_;
  std::size_t closed_ = open_.size();  // of these
  std::size_t turn_ = 0;               // whose turn it is
  std::size_t left_ = 0;               // records that it still has to give in this turn
};

}  // namespace leat::detail
