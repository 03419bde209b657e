#include "leat/io/writer/sharded_tfrecord_writer.hpp"

#include <algorithm>
#include <utility>

#include "io/writer/tfrecord_options.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"

namespace LEAT {
namespace {

// The first `finished_` shards are complete on the device and have no buffers. With a fixed number
// of shards, all others are open, and records go to them in rotation. Otherwise only the last shard
// receives records. A full shard is finished after the first record of the next one is stored, so
// that a failure of this step loses no record.
//
// No shard has its final name before close(), because that contains the number of shards.

constexpr std::size_t max_open_shards = 10'000;
constexpr std::size_t least_digits = 5;

std::string padded(std::size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, least_digits - std::min(least_digits, digits.size()), '0');
  return digits;
}

// File names do not contain the number of files until it is known.
std::string partial_name(const std::string& prefix, std::size_t index, const std::string& suffix) {
  return prefix + "-" + padded(index) + suffix;
}

void check(const sharded_tfrecord_writer_options& o, const std::string& prefix) {
  const auto throw_error = [&](const std::string& what) {
    throw failure(errc::invalid_argument, prefix + ": sharded_tfrecord_writer_options::" + what);
  };
  if (o.max_records == 0) throw_error("max_records is 0, must be 1 or more");
  if (o.max_bytes == 0) throw_error("max_bytes is 0, must be 1 or more");
  if (o.shard_count > max_open_shards) {
    throw_error("shard_count is " + std::to_string(o.shard_count) + ", must be at most " +
                std::to_string(max_open_shards));
  }
  const bool limited = o.max_records != UINT64_MAX || o.max_bytes != UINT64_MAX;
  if (o.shard_count > 0 && limited) {
    throw_error("shard_count is " + std::to_string(o.shard_count) +
                ": set either shard_count, or max_records and max_bytes");
  }
  if (o.suffix.find('/') != std::string::npos)
    throw_error("suffix is '" + o.suffix + "', must not contain '/'");
  detail::check(o.file, prefix);
}

}  // namespace

std::string shard_path(std::string_view prefix, std::size_t index, std::size_t count,
                       std::string_view suffix) {
  std::string path(prefix);
  std::string number = padded(index);
  const std::string all = padded(count);
  number.insert(0, all.size() - std::min(all.size(), number.size()), '0');
  path.append("-").append(number).append("-of-").append(all).append(suffix);
  return path;
}

task<sharded_tfrecord_writer> sharded_tfrecord_writer::open(
    std::string prefix, sharded_tfrecord_writer_options options) {
  if (prefix.empty()) {
    throw failure(errc::invalid_argument, "sharded_tfrecord_writer: prefix of the paths is empty");
  }
  check(options, prefix);
  sharded_tfrecord_writer writer(std::move(prefix), std::move(options));
  const std::size_t count = std::max<std::size_t>(writer.options_.shard_count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    writer.add_shard();
    co_await writer.create_file(i);
  }
  co_return writer;
}

sharded_tfrecord_writer::sharded_tfrecord_writer(std::string prefix,
                                                 sharded_tfrecord_writer_options options)
    : prefix_(std::move(prefix)), options_(std::move(options)) {}

void sharded_tfrecord_writer::add_shard() {
  const tfrecord_writer_options& o = options_.file;
  shard s;
  s.output.emplace(o.compression, o.deflate, o.buffer_size, o.output_buffer_size);
  if (o.index) s.index.emplace();
  shards_.push_back(std::move(s));
}

bool sharded_tfrecord_writer::is_full(const shard& s, std::size_t payload_size) const noexcept {
  if (s.records == 0) return false;
  if (s.records >= options_.max_records) return true;
  const std::uint64_t size = s.output->file_size();
  if (size >= options_.max_bytes) return true;
  return options_.file.compression == compression::none &&
         payload_size + tfrecord_overhead > options_.max_bytes - size;
}

// Returns the index of the shard for the next record.
std::size_t sharded_tfrecord_writer::choose_shard(std::size_t payload_size) {
  if (is_round_robin()) return records_ % options_.shard_count;
  if (is_full(shards_.back(), payload_size)) add_shard();
  return shards_.size() - 1;
}

// The record is stored first, so that any failed step can be repeated by the next call.
task<void> sharded_tfrecord_writer::write(byte_view payload) {
  if (closing_) throw failure(errc::failed_precondition, prefix_ + ": write after close");
  const detail::exclusive_use::guard guard(in_use_);
  const std::size_t index = choose_shard(payload.size());
  shard& s = shards_[index];
  detail::append_record(*s.output, s.index, payload);
  ++s.records;
  ++records_;
  bytes_ += payload.size() + tfrecord_overhead;
  if (!is_round_robin()) co_await finish_before(index);
  if (s.output->full()) co_await drain(index, deflate_flush::none);
}

task<void> sharded_tfrecord_writer::flush() {
  if (closing_) throw failure(errc::failed_precondition, prefix_ + ": flush after close");
  const detail::exclusive_use::guard guard(in_use_);
  if (!is_round_robin()) co_await finish_before(shards_.size() - 1);
  for (std::size_t i = finished_; i < shards_.size(); ++i) {
    co_await drain(i, options_.file.flush_mode);
  }
}

task<void> sharded_tfrecord_writer::close() {
  if (closed_) co_return;
  const detail::exclusive_use::guard guard(in_use_);
  closing_ = true;
  co_await finish_before(shards_.size());
  co_await commit();
  co_await detail::sync_parent_directory(prefix_);
  closed_ = true;
}

task<void> sharded_tfrecord_writer::create_file(std::size_t index) {
  std::optional<detail::atomic_file>& file = shards_[index].file;
  if (file) co_return;
  file.emplace(co_await detail::atomic_file::create(partial_name(prefix_, index, options_.suffix)));
}

task<void> sharded_tfrecord_writer::drain(std::size_t index, deflate_flush flush) {
  co_await create_file(index);
  shard& s = shards_[index];
  co_await s.output->drain(s.file->contents(), flush);
}

// Finishes all shards before `end`; finished shards need no buffers any more.
task<void> sharded_tfrecord_writer::finish_before(std::size_t end) {
  for (; finished_ < end; ++finished_) {
    shard& s = shards_[finished_];
    // After an error, the steps of a shard that are complete are not repeated.
    if (!s.file || s.file->contents().is_open()) {
      co_await drain(finished_, deflate_flush::finish);
      co_await s.file->finish();
    }
    s.output.reset();
    if (s.index) {
      const std::string path = partial_name(prefix_, finished_, options_.suffix);
      co_await s.index->finish(s.file->partial_path(), tfrecord_index_path(path));
    }
  }
}

// Renames all files or none.
task<void> sharded_tfrecord_writer::commit() {
  const std::vector<std::string> names = paths();
  try {
    co_await commit_all(names);
  } catch (...) {
    for (shard& s : shards_) {
      s.file->roll_back();
      if (s.index) s.index->roll_back();
    }
    throw;
  }
  for (shard& s : shards_) {
    s.file->release();
    if (s.index) s.index->release();
  }
}

// The data files last: they complete the set.
task<void> sharded_tfrecord_writer::commit_all(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::optional<detail::sidecar_index>& index = shards_[i].index;
    if (index) co_await index->commit(tfrecord_index_path(names[i]));
  }
  for (std::size_t i = 0; i < names.size(); ++i) co_await shards_[i].file->commit(names[i]);
}

std::vector<std::string> sharded_tfrecord_writer::paths() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    all.push_back(shard_path(prefix_, i, shards_.size(), options_.suffix));
  }
  return all;
}

}  // namespace LEAT
