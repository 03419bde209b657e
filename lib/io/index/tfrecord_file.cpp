#include "leat/io/index/tfrecord_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/file/gather_read.hpp"
#include "io/file/open_file_cache.hpp"
#include "io/index/gather_plan.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"

namespace LEAT {

void tfrecord_file::check_options(const tfrecord_file_options& options, const std::string& path) {
  constexpr std::size_t max_depth = 1024;
  if (options.depth < 1 || options.depth > max_depth) {
    throw failure(errc::invalid_argument, path + ": tfrecord_file_options::depth is " +
                                              std::to_string(options.depth) + ", must be 1 to " +
                                              std::to_string(max_depth));
  }
  if (options.max_record_size == 0) {
    throw failure(errc::invalid_argument, path + ": max_record_size is 0, must be 1 or more");
  }
}

task<std::unique_ptr<tfrecord_file>> tfrecord_file::open(std::string path,
                                                         tfrecord_file_options options,
                                                         std::source_location where) {
  check_options(options, path);
  tfrecord_index index = co_await load_or_build_tfrecord_index(path);
  co_return co_await open(std::move(path), std::move(index), options, where);
}

task<std::unique_ptr<tfrecord_file>> tfrecord_file::open(std::string path, tfrecord_index index,
                                                         tfrecord_file_options options,
                                                         std::source_location where) {
  check_options(options, path);
  file f = co_await file::open(std::move(path), open_mode::read, where);
  const tfrecord_fingerprint fingerprint = co_await get_tfrecord_fingerprint(f);
  if (fingerprint != index.fingerprint()) {
    throw failure(errc::failed_precondition,
                  f.path() + ": file does not match its index: build the index again");
  }
  co_return std::make_unique<tfrecord_file>(std::move(f), std::move(index), options);
}

tfrecord_file::tfrecord_file(file f, tfrecord_index index, const tfrecord_file_options& options)
    : file_(std::move(f)),
      path_(std::make_shared<const std::string>(file_.path())),
      index_(std::move(index)),
      options_(options) {
  check_options(options_, *path_);
  if (!file_.is_open()) throw failure(errc::failed_precondition, *path_ + ": file is not open");
}

// ---------------------------------------------------------------------------------------- a record

detail::record_frame tfrecord_file::find(std::uint64_t i, std::size_t position) const {
  if (i >= index_.size()) {
    throw failure(errc::out_of_range, path() + ": record " + std::to_string(i) +
                                          " is out of range: the file has " +
                                          std::to_string(index_.size()) + " records");
  }
  const tfrecord_index::entry e = index_[i];
  const requested_record w{
      .offset = e.offset, .size = e.size + tfrecord_overhead, .index = i, .position = position};
  if (is_too_large(w)) throw_corruption(w, too_large(w));
  return w;
}

bool tfrecord_file::is_too_large(const requested_record& w) const noexcept {
  return w.size - tfrecord_overhead > options_.max_record_size;
}

detail::record_corruption tfrecord_file::too_large(const requested_record& w) const {
  return {.reason = errc::resource_exhausted,
          .what = "length of " + std::to_string(w.size - tfrecord_overhead) +
                  " bytes is above the limit max_record_size of " +
                  std::to_string(options_.max_record_size)};
}

std::string tfrecord_file::position_text(const requested_record& w) const {
  return path() + ", " + detail::tfrecord_framing::position_text(w.index) + " at offset " +
         std::to_string(w.offset);
}

// Returns the corruption of a record that is not intact.
detail::record_corruption tfrecord_file::find_corruption(const requested_record& w,
                                                         byte_view frame) const {
  detail::tfrecord_framing::options how;
  how.checks = options_.checks;
  how.max_record_size = options_.max_record_size;
  std::vector<byte_view> found;
  const detail::tfrecord_framing framing(how, path());
  const auto result = framing.find({.bytes = frame, .index = w.index}, found);
  if (found.empty() && result.fault) return *result.fault;
  return {.reason = errc::failed_precondition,
          .what = "length of " + std::to_string(load_little_endian<std::uint64_t>(frame.data())) +
                  " bytes differs from the index, which has " +
                  std::to_string(w.size - tfrecord_overhead) + "; build the index again"};
}

void tfrecord_file::throw_corruption(const requested_record& w,
                                     const detail::record_corruption& d) const {
  throw failure(d.reason, position_text(w) + ": " + d.what);
}

void tfrecord_file::throw_read_error(const requested_record& w, std::int64_t error) const {
  if (error == -ENODATA) {
    throw failure(errc::data_loss, position_text(w) + ": file became shorter while it was read");
  }
  if (error == -ECANCELED) throw failure(errc::cancelled, path() + ": read");
  if (error == -ESTALE) {
    throw failure(errc::failed_precondition,
                  path() + ": file was changed or replaced after the reader opened it");
  }
  detail::throw_file_error(error, position_text(w), "cannot read");
}

// The indexed_reader has closed the file temporarily.
task<void> tfrecord_file::reopen(std::source_location where) {
  const std::int64_t error = co_await reader_files_->open(number_, where);
  if (error == 0) co_return;
  if (error == -ESTALE || error == -ECANCELED) throw_read_error({}, error);
  detail::throw_file_error(error, path(), "cannot open");
}

// Returns true if the record is intact now.
task<bool> tfrecord_file::read_again(const requested_record& w, std::span<std::byte> frame,
                                     std::source_location where) {
  if (file_.open_handle()->number < 0) co_await reopen(where);
  const std::size_t got = co_await file_.read_at(w.offset, frame, where);
  if (got < frame.size()) throw_read_error(w, -ENODATA);
  co_return is_tfrecord(frame, options_.checks);
}

task<void> tfrecord_file::reread_or_throw(const requested_record& w, std::span<std::byte> frame,
                                          std::source_location where) {
  const bool mended = co_await read_again(w, frame, where);
  if (!mended) throw_corruption(w, find_corruption(w, frame));
  ++statistics_.transient;
}

task<owned_record> tfrecord_file::at(std::uint64_t i, std::source_location where) {
  const requested_record w = find(i, 0);
  owned_record record;
  record.memory_ = detail::aligned_bytes(static_cast<std::size_t>(w.size));
  const std::span<std::byte> frame = w.bytes(record.memory_.data());
  if (file_.open_handle()->number < 0) co_await reopen(where);
  const std::size_t got = co_await file_.read_at(w.offset, frame, where);
  if (got < frame.size()) throw_read_error(w, -ENODATA);
  if (!is_tfrecord(frame, options_.checks)) co_await reread_or_throw(w, frame, where);
  if (reader_files_) reader_files_->enforce_limit();
  record.payload_ = w.payload(record.memory_.data());
  record.path_ = path_;
  record.offset_ = w.offset;
  record.index_ = i;
  ++statistics_.records;
  co_return record;
}

// ------------------------------------------------------------------------------------ many records

task<void> tfrecord_file::read(std::span<const std::uint64_t> indices, record_selection& selection,
                               std::source_location where) {
  selection.forget();
  std::vector<requested_record> all;
  all.reserve(indices.size());
  for (const std::uint64_t i : indices) all.push_back(find(i, all.size()));
  co_await fill(std::move(all), selection, where);
}

task<void> tfrecord_file::read_range(std::uint64_t first, std::uint64_t count,
                                     record_selection& selection, std::source_location where) {
  selection.forget();
  if (count > size() - std::min(first, size())) {
    static_cast<void>(find(std::max(first, size()), 0));  // throws
  }
  std::vector<requested_record> all;
  all.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t n = 0; n < count; ++n) all.push_back(find(first + n, all.size()));
  co_await fill(std::move(all), selection, where);
}

task<void> tfrecord_file::fill(std::vector<requested_record> all, record_selection& selection,
                               std::source_location where) {
  detail::gather_plan layout =
      detail::make_gather_plan(all, std::span(&file_.open_handle(), 1), options_.max_gap, path());
  if (layout.size > options_.max_selection_size && all.size() > 1) {
    throw failure(errc::resource_exhausted, path() + ": " + "selection of " +
                                                std::to_string(all.size()) + " records has " +
                                                std::to_string(layout.size) +
                                                " bytes, above the limit max_selection_size of " +
                                                std::to_string(options_.max_selection_size));
  }
  detail::aligned_bytes memory =
      detail::reuse_or_allocate(layout.size, std::move(selection.memory_));
  detail::assign_memory(layout.ranges, memory.data());
  if (file_.open_handle()->number < 0) co_await reopen(where);
  {
    // While an operation is in progress, the cache of the reader does not close the file.
    const detail::file_handle::operation_guard stays_open(file_.open_handle());
    co_await fetch(all, layout.ranges, memory.data(), where);
  }
  // reopen() may have exceeded the limit.
  if (reader_files_) reader_files_->enforce_limit();

  selection.records_.resize(all.size());
  selection.entries_.resize(all.size());
  for (const requested_record& w : all) {
    selection.records_[w.position] = w.payload(memory.data());
    selection.entries_[w.position] = {w.offset, w.index, w.index, path_.get()};
  }
  selection.memory_ = std::move(memory);
  selection.paths_ = path_;
  statistics_.records += all.size();
}

// Reads the ranges and checks the records in them, both in the order of the file.
// `all` and `ranges` are those that are left. A range begins at a record, and no record spans two
// ranges.
task<void> tfrecord_file::fetch(std::span<const requested_record> all,
                                std::span<const range> ranges, std::byte* memory,
                                std::source_location where) {
  while (!ranges.empty()) {
    if (this_task::stop_requested()) throw_read_error(all.front(), -ECANCELED);
    const detail::cached_ranges cached = detail::gather_cached(ranges);
    ranges = ranges.subspan(cached.count);
    if (cached.missed) {
      const detail::gather_result result =
          co_await detail::gather_read(file_, ranges, options_.depth, where);
      if (result.error != 0) {
        const std::uint64_t offset = ranges[result.range].offset;
        const auto hit =
            std::partition_point(all.begin(), all.end(),
                                 [offset](const requested_record& w) { return w.offset < offset; });
        throw_read_error(*hit, result.error);
      }
      ranges = {};
    }
    const auto arrived =
        ranges.empty()
            ? all.end()
            : std::partition_point(all.begin(), all.end(), [&ranges](const requested_record& w) {
                return w.offset < ranges.front().offset;
              });
    const auto count = static_cast<std::size_t>(arrived - all.begin());
    co_await check(all.first(count), memory, where);
    all = all.subspan(count);
  }
}

task<void> tfrecord_file::check(std::span<const requested_record> all, std::byte* memory,
                                std::source_location where) {
  constexpr std::uint64_t max_bytes_per_turn = std::uint64_t{4} << 20;
  std::uint64_t checked = 0;
  for (const requested_record& w : all) {
    const std::span<std::byte> frame = w.bytes(memory);
    if (!is_tfrecord(frame, options_.checks)) co_await reread_or_throw(w, frame, where);
    checked += w.size;
    if (checked < max_bytes_per_turn) continue;
    checked = 0;
    co_await detail::yield_turn();
  }
}

}  // namespace LEAT
