#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/source/detail/file_order.hpp"
#include "leat/pipeline/source/detail/files_state.hpp"
#include "leat/pipeline/source/detail/reader_tasks.hpp"
#include "leat/pipeline/source/detail/saved_file_versions.hpp"
#include "leat/pipeline/source/file_source.hpp"

namespace LEAT::detail {

/// The files of a source, and those of them that are interleaved. Their readers run where the
/// records are requested or, after start(), in tasks.
template <class Reader>
class source_files {
 public:
  using batch = typename Reader::batch_type;

  /// An interleaved file and its records.
  struct one {
    std::unique_ptr<Reader> reader;                       // if it is read here
    std::shared_ptr<prefetched_file<Reader>> prefetched;  // if a task reads it
    reader_progress at;  // of the task's reader, after the records that are here
    batch read;
    std::size_t taken = 0;  // records taken from it
    std::size_t file = 0;   // index in files()
    bool any = false;       // it has records
    bool ended = true;      // no file is left in this epoch

    [[nodiscard]] bool is_open() const noexcept { return reader || prefetched; }
  };

  /// Both must outlive this object.
  source_files(const file_source<Reader>& source, stage_metrics& metrics)
      : source_(source), metrics_(metrics), open_(source.interleave) {}

  // ---- All files.

  void found(std::vector<std::string> paths) {
    is_empty_.assign(paths.size(), false);
    files_ = saved_file_versions(std::move(paths));
  }
  void forget() noexcept {
    files_ = {};
    is_empty_.clear();
  }
  [[nodiscard]] saved_file_versions& files() noexcept { return files_; }
  [[nodiscard]] const saved_file_versions& files() const noexcept { return files_; }
  /// Errors: failed_precondition if the state has a file that does not exist.
  void require(std::uint64_t file) const {
    if (file >= files_.size())
      throw_state_error(metrics_.name(), "it lists a file beyond the " +
                                             std::to_string(files_.size()) + " files of the stage");
  }

  /// Returns true if all these files were read and had no records.
  [[nodiscard]] bool are_empty(const std::vector<std::size_t>& some) const {
    return std::ranges::all_of(some, [this](std::size_t file) { return is_empty_[file]; });
  }
  [[nodiscard]] bool all_are_empty() const {
    return std::ranges::all_of(is_empty_, std::identity());
  }

  // ---- Interleaved files.

  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }
  [[nodiscard]] one& operator[](std::size_t i) noexcept { return open_[i]; }
  [[nodiscard]] auto begin() noexcept { return open_.begin(); }
  [[nodiscard]] auto end() noexcept { return open_.end(); }
  [[nodiscard]] auto begin() const noexcept { return open_.begin(); }
  [[nodiscard]] auto end() const noexcept { return open_.end(); }

  /// Lets tasks read from now on, including files that were opened for a restore.
  void start(pipeline_context& context, std::size_t readers) {
    tasks_.emplace(metrics_, source_.reader, readers);
    tasks_->start(context);
    for (one& f : open_) {
      if (f.reader) start_prefetch(f);
    }
  }

  /// Opens a file here, at its saved position. Call it before start(). Errors: errors of the
  /// reader.
  [[nodiscard]] task<void> open(one& f, file_position p) {
    f.file = static_cast<std::size_t>(p.file);
    f.any = p.any;
    f.reader = co_await open_at<Reader>(files_.path(f.file), source_.reader, p);
    files_.note(f.file, f.reader->status());
  }

  /// Opens the next file of an order. Precondition: not at its end. Errors: errors of the reader.
  [[nodiscard]] task<void> open_next(one& f, file_order& order) {
    if (!tasks_) co_return co_await open(f, order.take());
    begin_prefetch(order);
    const file_position p = order.take();
    f.file = static_cast<std::size_t>(p.file);
    f.any = p.any;
    f.prefetched = std::move(prefetched_.front());
    prefetched_.pop_front();
  }

  /// Replaces the records of `f.read` by the next ones; at the end clears them and closes the file.
  /// Errors: errors of the reader.
  [[nodiscard]] task<void> read(one& f) {
    bool more = false;
    if (f.prefetched) {
      more = co_await tasks_->take(*f.prefetched, f.read, f.at);
      files_.note(f.file, f.prefetched->status);
    } else {
      more = co_await f.reader->read_batch(f.read);
    }
    f.any = f.any || more;
    if (more) co_return;
    is_empty_[f.file] = !f.any;
    metrics_.add_left_over(f.reader ? f.reader->statistics().left_over : f.at.left_over);
    f.reader.reset();
    f.prefetched.reset();
  }

  /// Returns the position of its next record.
  [[nodiscard]] file_position position_of(const one& f) const {
    file_position p{.open = f.is_open(), .ended = f.ended};
    if (!p.open) return p;
    p.any = f.any;
    p.file = f.file;
    const reader_progress at = f.reader ? progress_of(*f.reader) : f.at;
    p.offset = at.offset;
    p.index = at.index;
    p.reports = at.reports;
    if (f.taken == f.read.size()) return p;
    const record_position next = f.read.position(f.taken);
    p.offset = next.offset;
    p.index = next.index;
    return p;
  }

  /// Stops reading all files. Call it before start().
  void close() noexcept {
    for (one& f : open_) f = {};
  }

 private:
  // Begins as many files as there are tasks: the open files, and the next ones.
  void begin_prefetch(const file_order& order) {
    auto begun = static_cast<std::size_t>(std::ranges::count_if(open_, &one::is_open));
    for (begun += prefetched_.size(); begun < source_.readers; ++begun) {
      const std::size_t next = order.taken() + prefetched_.size();
      if (next == order.files().size()) return;
      const file_position p = order.at(next);
      prefetched_.push_back(tasks_->begin(files_.path(static_cast<std::size_t>(p.file)), p));
    }
  }

  void start_prefetch(one& f) {
    const file_position p = position_of(f);
    f.prefetched = tasks_->begin(files_.path(f.file), p);
    f.at = {.offset = p.offset, .index = p.index, .reports = p.reports};
    f.reader.reset();
  }

  const file_source<Reader>& source_;
  stage_metrics& metrics_;
  saved_file_versions files_;
  std::vector<bool> is_empty_;  // which of these are known to be empty
  std::vector<one> open_;
  std::optional<reader_tasks<Reader>> tasks_;
  std::deque<std::shared_ptr<prefetched_file<Reader>>> prefetched_;  // begun, and not open yet
};

}  // namespace LEAT::detail
