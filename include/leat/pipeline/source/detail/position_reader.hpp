#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/task.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// Reads records of one file at known positions, in order and each once, and delivers them in
/// blocks. If many records lie close together, it reads the whole file. If few do, a second reader
/// reads small pieces from position to position. Corruption between the records was reported when
/// they were first read.
template <class Reader>
class position_reader {
 public:
  using batch = typename Reader::batch_type;
  using options = typename Reader::options_type;
  using sink = std::function<void(batch&, std::span<const origin>)>;

  /// Precondition: `records` is not empty.
  position_reader(std::string path, options o, std::span<const origin> records)
      : path_(std::move(path)), options_(silent(std::move(o))), records_(records) {
    choose_piece_size();
  }

  [[nodiscard]] task<void> read(const sink& to) {
    while (!records_.empty()) {
      while (!has_first()) co_await read_first();
      deliver(to);
      // A read ends the loop iteration too: it may have taken as long as all the records of one.
      if (given_ < restore_share_of_turn && !records_.empty() && has_first()) continue;
      given_ = 0;
      co_await yield_turn("pipeline");
    }
  }

 private:
  // Corrupt records are skipped again, without a report and without a limit.
  [[nodiscard]] static options silent(options o) {
    if constexpr (requires { o.corruption; }) {
      o.corruption.max_reports = UINT64_MAX;
      o.corruption.on_report = {};
      o.corruption.log = {};
    }
    return o;
  }

  // If the file can be read from position to position, most of its records fit in one piece.
  void choose_piece_size() {
    if constexpr (requires { options_.read; } && !Reader::is_one_record_per_file) {
      constexpr std::uint64_t smallest = std::uint64_t{4} << 10;
      const origin& first = records_.front();
      const origin& last = records_.back();
      if (options_.compression.value_or(compression::none) != compression::none) return;
      if (last.index <= first.index) return;
      const std::uint64_t mean = (last.offset - first.offset) / (last.index - first.index);
      if (mean > options_.read.chunk_size / 4) return;
      piece_size_ = std::max(smallest, 2 * mean);
      may_be_compressed_ = !options_.compression;
    }
  }

  [[nodiscard]] bool has_first() const {
    return !read_.empty() && records_.front().index - read_.position(0).index < read_.size();
  }

  // Returns true if reading the bytes between the next records costs more than separate reads.
  [[nodiscard]] bool is_sparse() const {
    constexpr std::size_t some = 16;
    constexpr std::uint64_t read_overhead = std::uint64_t{8} << 10;  // of one read, in bytes
    const std::size_t count = std::min(some, records_.size() - 1);
    const std::uint64_t apart = records_[count].offset - records_.front().offset;
    return piece_size_ > 0 && apart >= count * (piece_size_ + read_overhead);
  }

  // Reads more records until the first requested one is among them.
  task<void> read_first() {
    const origin& first = records_.front();
    const bool sparse = !may_be_compressed_ && is_sparse();
    std::unique_ptr<Reader>& reader = sparse ? sparse_reader_ : sequential_reader_;
    if (!reader) co_await open(reader, sparse);
    const std::uint64_t min_seek_distance = sparse ? 0 : std::uint64_t{64} << 10;
    const std::uint64_t here = reader->position().offset;
    const bool jumps = first.offset < here || first.offset - here > min_seek_distance;
    if (jumps) reader->seek(first.offset, first.index);
    const bool more = co_await reader->read_batch(read_);
    if constexpr (requires { reader->is_compressed(); }) {
      if (std::exchange(may_be_compressed_, false) && reader->is_compressed()) piece_size_ = 0;
    }
    if (!more) throw_record_error(path_, first);
    if (jumps && read_.position(0).index != first.index) throw_record_error(path_, first);
  }

  task<void> open(std::unique_ptr<Reader>& reader, bool sparse) const {
    options o = options_;
    if constexpr (requires { o.read; }) {
      if (sparse) o.read.chunk_size = static_cast<std::size_t>(piece_size_);
      if (sparse) o.read.depth = 1;
    }
    reader = co_await Reader::open(path_, std::move(o));
  }

  // Takes consecutive records, up to the rest of this loop iteration's share.
  void deliver(const sink& to) {
    const origin& first = records_.front();
    const auto at = static_cast<std::size_t>(first.index - read_.position(0).index);
    std::size_t count = 0;
    const std::size_t most = std::min(records_.size(), restore_share_of_turn - given_);
    while (count < most && at + count < read_.size() &&
           records_[count].index == first.index + count &&
           records_[count].offset == read_.position(at + count).offset) {
      ++count;
    }
    if (count == 0) throw_record_error(path_, first);
    batch block = read_.slice(at, count);
    to(block, records_.first(count));
    records_ = records_.subspan(count);
    given_ += count;
  }

  const std::string path_;
  const options options_;
  std::span<const origin> records_;  // that are still to be read
  std::uint64_t piece_size_ = 0;     // 0: the file is not read in pieces
  bool may_be_compressed_ = false;   // until the first batch was read
  std::size_t given_ = 0;            // records in this loop iteration
  std::unique_ptr<Reader> sequential_reader_;
  std::unique_ptr<Reader> sparse_reader_;
  batch read_;
};

}  // namespace LEAT::detail
