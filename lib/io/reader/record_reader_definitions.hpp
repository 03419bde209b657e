#pragma once

// The bodies of basic_record_reader, for the sources that instantiate it for their framing.

#include <algorithm>
#include <utility>
#include <vector>

#include "io/reader/record_framing.hpp"
#include "io/reader/record_resync.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/base/error.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/reader/record_reader.hpp"

namespace LEAT {

// The last `unread_` bytes of the view are not consumed, and offset_ is the offset of the first of
// them. The next record begins `to_skip_` bytes after that, which may be after the view: skip()
// drops these bytes as they come into view.
//
// find() never waits. It fills the batch, or it leaves the reason why it cannot in size_to_verify_,
// fault_, pending_report_ or the stream; without a reason, it needs more bytes. read_batch() takes
// one step for the reason and calls find() again. The bytes of a fault are not consumed before its
// report is delivered: if the step fails until then, the next call finds the fault again.
//
// While `search_` is set, corruption is being skipped. Its report waits for the end of the skipped
// bytes: the declared end of the record (`end_known`), or else the next intact record.

template <class F>
task<std::unique_ptr<basic_record_reader<F>>> basic_record_reader<F>::open(
    std::string path, options_type options, std::source_location where) {
  file f = co_await file::open(std::move(path), open_mode::read, where);
  co_return std::make_unique<basic_record_reader>(std::move(f), options);
}

template <class F>
void basic_record_reader<F>::check_options(const options_type& options, std::string_view owner) {
  detail::check(F(options, owner).stream({}), owner);
}

template <class F>
basic_record_reader<F>::basic_record_reader(file f, const options_type& options)
    : file_(std::move(f)),
      path_(std::make_shared<const std::string>(file_.path())),
      framing_(options, *path_),
      corruption_(options.corruption),
      stream_(file_, framing_.stream(file_.status()), F::headroom),
      to_skip_(framing_.first_record()) {
  static_assert(
      detail::record_framing<F>,
      "framing lacks a member, or has it with another type: see io/reader/record_framing.hpp");
  static_assert(!detail::is_incomplete_framing<F>,
                "framing has some of the members of framing_with_record_start or "
                "framing_with_candidates, but not all: see io/reader/record_framing.hpp");
}

template <class F>
basic_record_reader<F>::~basic_record_reader() = default;

template <class F>
task<bool> basic_record_reader<F>::read_batch(batch_type& batch, std::source_location where) {
  const detail::exclusive_use::guard guard(in_use_);
  batch.clear();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  while (!ended_) {
    if (find(batch)) {
      if (pending_report_) co_await deliver_report_before_batch();
      co_return true;
    }
    // A file in the page cache is read, and corruption in it skipped, without a wait.
    if (detail::is_turn_over()) co_await detail::yield_turn(*path_ + ": read");
    if (size_to_verify_) {
      co_await verify_ahead(where);
    } else if (stream_failed()) {
      co_await handle_corruption(*stream_.fault(), where);
    } else if (fault_) {
      co_await handle_corruption(*std::exchange(fault_, std::nullopt), where);
    } else if (pending_report_) {
      co_await deliver_report(*std::exchange(pending_report_, std::nullopt));
    } else if (!at_end_) {
      co_await read_more(where);
    } else {
      end_file();
      if (pending_report_) co_await deliver_report(*std::exchange(pending_report_, std::nullopt));
      if (stream_.truncation()) co_await deliver_report(make_report(*stream_.truncation()));
    }
  }
  co_return false;
}

template <class F>
void basic_record_reader<F>::seek(std::uint64_t offset, std::uint64_t index) {
  const detail::exclusive_use::guard guard(in_use_);
  const std::uint64_t there = stream_.seek(offset);
  const bool from_start = offset == 0 && index == 0;
  unread_ = 0;
  offset_ = there;
  to_skip_ = from_start ? framing_.first_record() : offset - there;
  index_ = index;
  at_end_ = ended_ = false;
  needed_ = 0;
  searched_ = 0;
  fault_.reset();
  search_.reset();
  checksums_ = {};
  doubtful_until_ = 0;
  size_to_verify_.reset();
  verified_at_.reset();
  reread_report_.reset();
  error_ = nullptr;
}

// ------------------------------------------------------------------------------ the bytes in view

template <class F>
byte_view basic_record_reader<F>::unread() const noexcept {
  const detail::stream_window& view = stream_.view();
  return {view.data() + (view.size() - unread_), unread_};
}

template <class F>
std::uint64_t basic_record_reader<F>::left() const noexcept {
  if (at_end_) return unread_;
  const std::uint64_t size = stream_.size();
  return size == detail::unknown_size ? size : size - offset_;
}

// Corruption in compressed data cannot be skipped: not even the unread data is known to be a
// record.
template <class F>
bool basic_record_reader<F>::stream_failed() const noexcept {
  return at_end_ && stream_.fault();
}

template <class F>
void basic_record_reader<F>::drop(std::size_t count) noexcept {
  unread_ -= count;
  offset_ += count;
  if (count > 0) searched_ = 0;
}

template <class F>
void basic_record_reader<F>::skip() noexcept {
  const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, unread_));
  drop(here);
  to_skip_ -= here;
}

template <class F>
task<void> basic_record_reader<F>::read_more(std::source_location where) {
  // Bytes to skip need not be read if they exceed one read.
  constexpr std::uint64_t min_seek_distance = std::uint64_t{1} << 20;
  if (to_skip_ > min_seek_distance && stream_.can_seek_directly()) {
    const std::uint64_t there = stream_.seek(offset_ + to_skip_);
    to_skip_ -= there - offset_;
    offset_ = there;
  }
  const std::uint64_t needed = to_skip_ == 0 ? needed_ : 0;
  if (co_await stream_.advance(unread_, needed, where)) {
    unread_ = static_cast<std::size_t>(stream_.view().end() - offset_);
  } else {
    at_end_ = true;
  }
}

// --------------------------------------------------------------------------------- the records

// Returns true with records in the batch. Otherwise there is a fault, or more bytes are needed.
template <class F>
bool basic_record_reader<F>::find(batch_type& batch) {
  skip();
  if (fault_ || stream_failed() || ((to_skip_ > 0 || unread_ == 0) && !at_end_)) return false;
  if (search_ && search_->end_known) end_search(offset_);
  if (search_ && !at_possible_record()) return false;
  const byte_view bytes = searchable_bytes();
  if (fault_ || size_to_verify_) return false;
  const std::uint64_t offset = offset_;
  const std::uint64_t index = index_;
  // Otherwise the caller chose the offset: missing data there is the end, not corruption.
  const bool in_header = next_offset() == framing_.first_record();
  detail::framing_result result;
  try {
    result = framing_.find({bytes, left(), in_header ? to_skip_ : 0, index, searched_,
                            stream_.is_compressed(), offset, state_},
                           batch.records_);
  } catch (...) {  // lack of memory: the next call finds them again
    batch.clear();
    throw;
  }
  // Records were found after an incomplete record, so it counts as one more report.
  if (search_ && search_->may_be_tail && !batch.empty() &&
      statistics_.reports >= corruption_.max_reports) {
    batch.clear();
    throw detail::corruption_error(errc::data_loss, search_->report,
                                   F::position_text(search_->report.index),
                                   detail::limit_hint(statistics_.reports));
  }
  count(result, batch);
  if (batch.empty()) {
    if (search_ && result.left_out > 0) end_search(offset);  // the skipped records are intact
    fault_ = std::move(result.fault);
    return false;
  }
  batch.keeper_ = stream_.view().keeper();
  batch.path_ = path_;
  batch.data_ = stream_.view().data();
  batch.offset_ = stream_.view().offset();
  batch.index_ = index + result.left_out;
  batch.frame_ = F::frame;
  clear_doubt(offset);
  return true;
}

template <class F>
void basic_record_reader<F>::count(const detail::framing_result& result, batch_type& batch) {
  to_skip_ += result.consumed;
  needed_ = result.needed;
  skip();
  searched_ = to_skip_ == 0 && !result.fault ? unread_ : 0;
  state_ = result.state;
  index_ += result.left_out + batch.size();
  statistics_.records += batch.size();
  // If the search continues, these bytes belong to the skipped ones.
  if (!search_ || !batch.empty()) statistics_.left_over += result.left_over;
}

// Called when a record at `offset` is intact. Ends a search, and reports an earlier error at this
// offset as transient.
template <class F>
void basic_record_reader<F>::clear_doubt(std::uint64_t offset) {
  if (search_) {
    end_search(offset);
  }
  if (reread_report_ && reread_report_->offset == offset) {
    ++statistics_.transient;
    pending_report_ = std::exchange(reread_report_, std::nullopt);
    pending_report_->transient = true;
  }
}

// ------------------------------------------------------------------------------------ corruption

template <class F>
corruption_report basic_record_reader<F>::make_report(const detail::record_corruption& d) const {
  return {.path = *path_,
          .offset = next_offset(),
          .index = index_,
          .what = d.what,
          .expected_crc = d.expected_crc,
          .actual_crc = d.actual_crc,
          .skipped = 0,
          .transient = false};
}

// A fault may be a transient error. Returns true if the record is to be read again. Text is not: it
// has no checksum that would show an error of the transfer.
template <class F>
task<bool> basic_record_reader<F>::reread_once(const detail::record_corruption& d,
                                               std::source_location where) {
  if (F::search_finds_end || d.reason != errc::data_loss || !stream_.can_seek_directly())
    co_return false;
  if (reread_report_ && reread_report_->offset == next_offset()) co_return false;
  if (d.size && next_offset() < doubtful_until_) co_return false;
  const bool same = co_await is_same_in_file(d.size, where);
  if (same) co_return false;
  reread_report_ = make_report(d);
  static_cast<void>(stream_.seek(offset_));
  unread_ = 0;
  needed_ = 0;
  searched_ = 0;
  at_end_ = false;
  co_return true;
}

// Returns true if the file still has the bytes of a corrupt record in view and they are few: then
// it is useless to read it again with all that follows.
template <class F>
task<bool> basic_record_reader<F>::is_same_in_file(std::optional<std::uint64_t> size,
                                                   std::source_location where) {
  if constexpr (detail::framing_with_record_start<F>) {
    constexpr std::uint64_t little = std::uint64_t{64} << 10;
    std::uint64_t most = std::min(unread_, F::record_start_size);
    if (size && *size <= unread_) most = *size;
    if (most > little) co_return false;
    std::vector<std::byte> again(static_cast<std::size_t>(most));
    const std::size_t got = co_await stream_.read_out_of_band(offset_, again, where);
    co_return got == again.size() && std::equal(again.begin(), again.end(), unread().begin());
  }
  co_return false;
}

template <class F>
void basic_record_reader<F>::check_policy(const detail::record_corruption& d) const {
  const bool knows_where = d.size || F::search_finds_end || stream_failed();
  const std::uint64_t before = statistics_.reports + (search_ ? 1 : 0);
  std::string hint;
  if (corruption_.policy == corruption_policy::skip_record && !knows_where) {
    hint =
        "; the offset of the next record is unknown: set corruption_policy::resync to search for "
        "it";
  } else if (corruption_.policy != corruption_policy::fail) {
    if (before < corruption_.max_reports) return;
    hint = detail::limit_hint(before);
  }
  throw detail::corruption_error(d.reason, make_report(d), F::position_text(index_), hint);
}

// Throws, or prepares the reader to continue.
template <class F>
task<void> basic_record_reader<F>::handle_corruption(detail::record_corruption d,
                                                     std::source_location where) {
  if (search_ && !stream_failed()) {
    // These bytes only looked like a record, or the next record is corrupt too.
    if constexpr (!F::search_finds_end) co_return skip_possible_record();
    end_search(offset_);
  }
  if (pending_report_) co_await deliver_report(*std::exchange(pending_report_, std::nullopt));
  const bool again = co_await reread_once(d, where);
  if (again) co_return;
  if (!d.may_be_tail) check_policy(d);
  if (search_) {
    if (search_->end_known) to_skip_ = 0;
    end_search(offset_ + unread_);
    co_await deliver_report(*std::exchange(pending_report_, std::nullopt));
  }
  const bool failed = stream_failed();
  if (!failed && d.size && corruption_.policy == corruption_policy::resync) {
    const bool known = co_await is_end_confirmed(*d.size, where);
    if (stream_failed()) co_return;  // other corruption, which is handled instead
    if (!known) {
      if (d.actual_crc) doubtful_until_ = std::max(doubtful_until_, offset_ + *d.size);
      if (!stream_.can_seek_directly() && *d.size > unread_ && !at_end_)
        d.what += detail::too_long_hint(offset_);
      d.size.reset();
    }
  }
  corruption_report report = make_report(d);
  reread_report_.reset();
  ++index_;
  const bool whole_file = corruption_.policy == corruption_policy::skip_file || failed;
  const std::uint64_t rest = left();
  if (!whole_file && (!d.size || (rest == detail::unknown_size && *d.size > unread_))) {
    search_ = search{std::move(report), offset_, d.size.has_value(), d.may_be_tail};
    if (d.size) {
      to_skip_ = *d.size;
    } else {
      drop(1);
    }
    co_return;
  }
  report.skipped = whole_file ? rest : std::min(*d.size, rest);
  if (whole_file) {
    if (rest == detail::unknown_size) report.skipped = unread_;
    ended_ = true;
  }
  to_skip_ = report.skipped;
  co_await deliver_report(std::move(report));
}

template <class F>
task<void> basic_record_reader<F>::deliver_report(corruption_report report) {
  if (!report.transient) {
    ++statistics_.reports;
    statistics_.skipped += report.skipped;
  }
  if (corruption_.on_report) corruption_.on_report(report);
  if (corruption_.log) co_await corruption_.log->add(report);
}

// The batch is delivered even if the report fails.
template <class F>
task<void> basic_record_reader<F>::deliver_report_before_batch() {
  try {
    co_await deliver_report(*std::exchange(pending_report_, std::nullopt));
  } catch (...) {
    error_ = std::current_exception();
  }
}

}  // namespace LEAT
