#include "leat/io/index/indexed_reader.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "io/file/batched_reads.hpp"
#include "io/index/gather_plan.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/stream/detail/framing_types.hpp"

// A reader reads the epoch in blocks, and the positions never change their order:
//
//     next_  ≤  blocks_  ≤  planned_  ≤  ahead_
//
// `next_` is the first record that is not delivered; a saved state has only this position. The
// blocks are in memory or being read. The planned block waits for capacity or for memory, and
// `ahead_` is the position after it. While the page cache has the records, there is one block, and
// it is copied without the backend; the first miss starts reads ahead, for the rest of the epoch.
//
// deliver() moves `next_` once nothing more can fail. A record that is refused, or a read that
// fails, drops all blocks: they are planned again from `next_`. So an error changes no order, and a
// caller that reads again continues at the same record.

namespace LEAT {

// Records that are read in one batch, in the order of their epoch.
struct indexed_reader::block : detail::range_batch {
  struct item {
    detail::record_frame frame;
    std::uint64_t position;  // in the order of the epoch
    std::uint64_t global_index;
    bool repeated;
    bool too_large;  // then it is not read
  };

  std::uint64_t epoch = 0;
  std::vector<item> items;
  epoch_position end;         // after it
  std::uint64_t dropped = 0;  // at the end of the epoch
  std::uint64_t size = 0;     // of all ranges, bytes
  bool requested = false;     // it was passed to reads_
};

// A record that was corrupt on the first read.
struct indexed_reader::bad_record {
  std::size_t item;
  detail::record_corruption fault;
  bool transient = false;
};

// The outcome of checking the records of a block.
struct indexed_reader::batch_outcome {
  std::vector<bool> left_out;
  std::size_t end;                  // delivered or skipped records
  std::exception_ptr refusal = {};  // of the record there
  std::vector<corruption_report> reports = {};
};

indexed_reader::~indexed_reader() { reads_->cancel_all(); }

std::span<const std::unique_ptr<tfrecord_file>> indexed_reader::files() const noexcept {
  return files_;
}

shard_counts indexed_reader::counts() const {
  epoch_order present = order_;
  begin_epoch(present, next_.epoch);
  return present.remaining_from(0);
}

// ----------------------------------------------------------------------------------- what to read

bool indexed_reader::at_end(const epoch_position& p) const noexcept {
  return size() == 0 || (options_.num_epochs && p.epoch >= *options_.num_epochs);
}

// Returns the block after the planned ones; null at the end.
std::shared_ptr<indexed_reader::block> indexed_reader::plan() {
  for (;;) {
    if (at_end(ahead_)) return nullptr;
    if (order_.epoch() != ahead_.epoch) {
      begin_epoch(order_, ahead_.epoch);
      reads_ahead_ = false;  // by now all of it may be in the page cache
    }
    if (order_.remaining_from(ahead_.position).records > 0) break;
    ahead_ = {ahead_.epoch + 1, 0};
  }

  auto b = std::make_shared<block>();
  b->epoch = ahead_.epoch;
  std::vector<detail::record_frame> wanted;
  std::uint64_t bytes = 0;
  std::uint64_t position = ahead_.position;
  while (b->items.size() < options_.batch_size && order_.remaining_from(position).records > 0) {
    const epoch_order::entry e = order_.at(position);
    const tfrecord_file& file = *files_[e.file];
    const tfrecord_index::entry at = file.index()[e.index];
    const detail::record_frame frame{.offset = at.offset,
                                     .size = at.size + tfrecord_overhead,
                                     .index = e.index,
                                     .file = e.file,
                                     .position = b->items.size()};
    const bool too_large = file.is_too_large(frame);
    if (!too_large) {
      // An upper limit of the memory: a range includes the gaps between its records. With half of
      // the limit for each block, the next block is read while this one is delivered.
      bytes += frame.size + options_.file.max_gap;
      if (!b->items.empty() && bytes > options_.max_bytes / 2) break;
      wanted.push_back(frame);
    }
    b->items.push_back({frame, position, e.global_index, e.repeated, too_large});
    position = order_.next(position);
  }
  detail::gather_plan layout = detail::make_gather_plan(wanted, reads_->files().handles(),
                                                        options_.file.max_gap, options_.name);
  for (const detail::record_frame& f : wanted) b->items[f.position].frame.at = f.at;
  b->ranges = std::move(layout.ranges);
  b->size = layout.size;
  b->end = order_.ended(position) ? epoch_position{ahead_.epoch + 1, 0}
                                  : epoch_position{ahead_.epoch, position};
  const shard_counts left = order_.remaining_from(position);
  if (left.records == 0) b->dropped = left.dropped;
  // Last: after an error above, the same block is planned again.
  ahead_ = {b->epoch, position};
  return b;
}

// Starts the planned block; after an error it remains planned.
void indexed_reader::start_planned() {
  block& b = *planned_;
  // Slightly more than needed, for the next batch that uses this memory.
  const std::uint64_t size = b.size <= spare_.size() ? b.size : b.size + b.size / 8;
  b.memory = detail::reuse_or_allocate(size, std::move(spare_));
  detail::assign_memory(b.ranges, b.memory.data());
  blocks_.push_back(planned_);
  planned_.reset();
  if (!reads_ahead_ || b.ranges.empty()) return;
  // If this fails, fetch() reads the block when it is the first one.
  reads_->add(blocks_.back());
  b.requested = true;
}

bool indexed_reader::has_capacity_for(const block& b) const noexcept {
  if (blocks_.empty()) return true;
  if (!reads_ahead_) return false;
  std::uint64_t records = b.items.size();
  std::uint64_t bytes = b.size + b.size / 8;
  for (const auto& other : blocks_) {
    // The first block is the next batch, which `records_ahead` does not limit.
    if (other != blocks_.front()) records += other->items.size();
    bytes += other->memory.size();
  }
  return records <= options_.records_ahead && bytes <= options_.max_bytes;
}

// Starts the next block, and the following ones as the limits allow.
void indexed_reader::start_reads_ahead() {
  try {
    for (;;) {
      if (!planned_) planned_ = plan();
      if (!planned_ || !has_capacity_for(*planned_)) return;
      start_planned();
    }
  } catch (const std::bad_alloc&) {
    if (blocks_.empty()) throw;  // otherwise it is read later
  }
}

void indexed_reader::drop_reads_ahead() noexcept {
  reads_->cancel_all();
  blocks_.clear();
  planned_.reset();
  ahead_ = next_;
}

// --------------------------------------------------------------------------------------- a batch

task<bool> indexed_reader::read_batch(record_selection& batch, std::source_location where) {
  const detail::exclusive_use::guard guard(in_use_);
  reads_->check_home();
  if (!has_common_order_) check_seed(options_);
  batch.forget();
  if (batch.memory_.sole_owner() && batch.memory_.size() > spare_.size()) {
    // No slice of the last batch shares its memory, so another block may overwrite it.
    spare_ = std::move(batch.memory_);
  }
  batch.memory_ = {};
  while (batch.empty()) {
    // The error of a report is thrown after the batch to which the report belongs.
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    if (detail::is_turn_over()) co_await detail::yield_turn();
    if (this_task::stop_requested()) throw failure(errc::cancelled, options_.name + ": read");
    start_reads_ahead();
    if (blocks_.empty()) co_return false;
    const std::shared_ptr<block> b = blocks_.front();
    co_await fetch(b, where);
    const std::vector<bad_record> found = co_await check(*b, where);
    batch_outcome v = decide(*b, found);
    deliver(*b, v, batch);
    if (!v.reports.empty()) {
      try {
        co_await deliver_reports(std::move(v.reports));
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    // If records precede the refused one, the next call reads it again and throws.
    if (batch.empty() && v.refusal) std::rethrow_exception(v.refusal);
  }
  co_return true;
}

// Waits until a block is in memory.
// The first `next` ranges were copied from the page cache; once the block is requested, reads_
// advances `next`.
task<void> indexed_reader::fetch(std::shared_ptr<block> b, std::source_location where) {
  while (!b->requested && b->next < b->ranges.size()) {
    const auto cached =
        detail::gather_cached(std::span(b->ranges).subspan(b->next), &reads_->files());
    b->next += cached.count;
    if (cached.missed) {
      reads_->add(b);
      b->requested = true;
      reads_ahead_ = true;
      start_reads_ahead();
    } else if (b->next < b->ranges.size()) {
      co_await detail::yield_turn();
    }
  }
  // Does not wait for a block that was copied as a whole. If it is cancelled, the reads continue,
  // and the next call waits for them.
  co_await detail::read_wait(*b, options_.name, at_stream_position, where);
  if (b->result.error == 0) co_return;
  const detail::file_range& hit = b->ranges[b->result.range];
  const auto is_hit = [&](const block::item& i) {
    return i.frame.file == hit.file && !i.too_large && i.frame.offset >= hit.offset &&
           i.frame.offset - hit.offset < hit.size;
  };
  const block::item& first = *std::ranges::find_if(b->items, is_hit);
  // `first` is an item of the block, which `b` keeps.
  drop_reads_ahead();
  files_[first.frame.file]->throw_read_error(first.frame, b->result.error);
}

// Collects the records of a block that are corrupt, and the result of reading them again.
task<std::vector<indexed_reader::bad_record>> indexed_reader::check(const block& b,
                                                                    std::source_location where) {
  constexpr std::uint64_t max_bytes_per_turn = std::uint64_t{4} << 20;
  std::vector<bad_record> found;
  std::uint64_t checked = 0;
  for (std::size_t i = 0; i < b.items.size(); ++i) {
    const detail::record_frame& frame = b.items[i].frame;
    tfrecord_file& file = *files_[frame.file];
    if (b.items[i].too_large) {
      found.push_back({i, file.too_large(frame)});
      continue;
    }
    const std::span<std::byte> bytes = frame.bytes(b.memory.data());
    if (!is_tfrecord(bytes, file.options_.checks)) {
      bad_record f{i, file.find_corruption(frame, bytes)};
      f.transient = co_await file.read_again(frame, bytes, where);
      if (!f.transient) f.fault = file.find_corruption(frame, bytes);
      found.push_back(std::move(f));
    }
    checked += frame.size;
    if (checked < max_bytes_per_turn) continue;
    checked = 0;
    co_await detail::yield_turn();
  }
  co_return found;
}

// Decides which records are delivered, skipped and reported, up to the first one that is refused.
// Changes nothing in the reader: deliver() applies the outcome.
indexed_reader::batch_outcome indexed_reader::decide(const block& b,
                                                     const std::vector<bad_record>& found) const {
  batch_outcome v{.left_out = std::vector<bool>(b.items.size()), .end = b.items.size()};
  std::uint64_t reports = statistics_.reports;
  for (const bad_record& f : found) {
    const detail::record_frame& frame = b.items[f.item].frame;
    const tfrecord_file& file = *files_[frame.file];
    if (!f.transient) {
      const bool fails = options_.corruption.policy == corruption_policy::fail;
      if (fails || reports >= options_.corruption.max_reports) {
        const std::string hint = fails ? std::string() : detail::limit_hint(reports);
        v.refusal = std::make_exception_ptr(
            failure(f.fault.reason, file.position_text(frame) + ": " + f.fault.what + hint));
        v.end = f.item;
        break;
      }
      ++reports;
      v.left_out[f.item] = true;
    }
    v.reports.push_back({.path = file.path(),
                         .offset = frame.offset,
                         .index = frame.index,
                         .what = f.fault.what,
                         .expected_crc = f.fault.expected_crc,
                         .actual_crc = f.fault.actual_crc,
                         .skipped = f.transient ? 0 : frame.size,
                         .transient = f.transient});
  }
  return v;
}

// Puts the intact records of the first block into the batch and moves the position after them.
void indexed_reader::deliver(const block& b, const batch_outcome& v, record_selection& batch) {
  // Nothing fails after the second reservation.
  batch.records_.reserve(v.end);
  batch.entries_.reserve(v.end);
  std::uint64_t repeated = 0;
  for (std::size_t i = 0; i < v.end; ++i) {
    if (v.left_out[i]) continue;
    const block::item& item = b.items[i];
    const detail::record_frame& frame = item.frame;
    batch.records_.push_back(frame.payload(b.memory.data()));
    batch.entries_.push_back(
        {frame.offset, frame.index, item.global_index, files_[frame.file]->path_.get()});
    if (item.repeated) ++repeated;
  }
  batch.memory_ = b.memory;
  batch.paths_ = paths_;
  batch_epoch_ = b.epoch;

  statistics_.records += batch.size();
  statistics_.repeated += repeated;
  for (const corruption_report& r : v.reports) {
    ++(r.transient ? statistics_.transient : statistics_.reports);
  }
  if (v.refusal) {
    next_ = {b.epoch, b.items[v.end].position};
    drop_reads_ahead();
  } else {
    next_ = b.end;
    statistics_.dropped += b.dropped;
    blocks_.pop_front();
  }
}

// The batch is delivered even if a report fails.
task<void> indexed_reader::deliver_reports(std::vector<corruption_report> reports) {
  const corruption_options& o = options_.corruption;
  for (const corruption_report& r : reports) {
    if (o.on_report) o.on_report(r);
    if (!o.log) continue;
    try {
      co_await o.log->add(r);
    } catch (...) {
      error_ = std::current_exception();
    }
  }
}

}  // namespace LEAT
