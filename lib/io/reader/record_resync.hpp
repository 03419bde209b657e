#pragma once

// The bodies of basic_record_reader that search for the next record after corruption; included by
// io/reader/record_reader_definitions.hpp.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "io/reader/record_framing.hpp"
#include "leat/io/reader/record_reader.hpp"

namespace LEAT {

// A search finds headers that are only candidates: such bytes may also be within a corrupt record.
// A candidate is accepted unless its payload contradicts it. is_contradicted() checks it in view;
// if it is too long for that, size_to_verify_ requests a check by reading ahead, and verified_at_
// has the offset of a candidate that has passed.
//
// The payloads of candidates may overlap, and a separate checksum of each would take quadratic
// time: checksums_ reads each byte once for all of them. doubtful_until_ is the end of all sizes
// that corrupt data has declared; up to there, records are found one at a time and checked in this
// way.

// Returns true if corruption that declares its own size ends there: at the end of the file, or at a
// possible record.
template <class F>
task<bool> basic_record_reader<F>::is_end_confirmed(std::uint64_t size,
                                                    std::source_location where) {
  if constexpr (detail::framing_with_record_start<F>) {
    if (size > left()) co_return false;
    const std::uint64_t wanted = size + F::record_start_size;
    if (wanted > unread_ && stream_.can_seek_directly()) {
      if (size == left()) co_return true;
      std::array<std::byte, F::record_start_size> next;
      const std::size_t got = co_await stream_.read_out_of_band(offset_ + size, next, where);
      co_return got == next.size() && F::starts_record(next);
    }
    const std::uint64_t most = std::max<std::uint64_t>(corruption_.max_held, unread_);
    while (unread_ < wanted && size <= most && !at_end_) co_await read_more(where);
    if (size > unread_) co_return false;
    const byte_view behind = unread().subspan(static_cast<std::size_t>(size));
    co_return behind.size() < F::record_start_size ? behind.empty() && at_end_
                                                   : F::starts_record(behind);
  }
  co_return true;  // also if no wait is needed
}

// Returns true if a record may begin at the current offset.
template <class F>
bool basic_record_reader<F>::at_possible_record() {
  for (;;) {
    if (!search_->candidate) {
      const byte_view bytes = unread();
      const std::optional<std::size_t> found = framing_.search(bytes);
      if (!found) {
        drop(bytes.size() - std::min(bytes.size(), framing_.overlap));
        return false;
      }
      drop(*found);
      search_->candidate = true;
    }
    if (verified_at_ == offset_) return true;
    if (!is_contradicted()) return !size_to_verify_;
    skip_possible_record();
  }
}

// Checks a candidate with its bytes in view, or at the end of the file with all bytes. A candidate
// that is too long for that is verified by reading ahead.
template <class F>
bool basic_record_reader<F>::is_contradicted() {
  if constexpr (detail::framing_with_candidates<F>) {
    if (!stream_.can_seek_directly() && !at_end_ && framing_.exceeds_limit(unread())) {
      search_->note_too_long(offset_);
      return true;
    }
    if (framing_.contradicts(checksums_, unread(), offset_)) {
      doubtful_until_ = std::max(doubtful_until_, offset_ + F::leading_record(unread()).size());
      return true;
    }
    if (stream_.can_seek_directly()) size_to_verify_ = framing_.declared_size(unread(), left());
  }
  return false;
}

// Returns the bytes in view that may be searched for records. Within the declared size of a corrupt
// record, other records may declare sizes as large: there, records are searched one at a time. Sets
// fault_ if the record is known to be corrupt, and size_to_verify_ if it has to be verified by
// reading ahead.
template <class F>
byte_view basic_record_reader<F>::searchable_bytes() {
  const byte_view all = unread();
  if constexpr (detail::framing_with_candidates<F>) {
    if (offset_ >= doubtful_until_ || all.size() < F::record_start_size) return all;
    if (framing_.search(all.first(F::record_start_size)) != std::size_t{0}) return all;
    const byte_view front = F::leading_record(all);
    if (!search_ && verified_at_ != offset_) {
      if (const auto wrong = framing_.contradicts(checksums_, front, offset_)) {
        fault_ = F::make_corruption(front.size(), *wrong);
      } else if (stream_.can_seek_directly()) {
        size_to_verify_ = framing_.declared_size(all, left());
      }
    }
    if (!front.empty()) return front;
  }
  return all;
}

template <class F>
void basic_record_reader<F>::skip_possible_record() noexcept {
  search_->candidate = false;
  needed_ = 0;
  drop(1);
}

template <class F>
task<void> basic_record_reader<F>::verify_ahead(std::source_location where) {
  if constexpr (detail::framing_with_candidates<F>) {
    const std::uint64_t size = *size_to_verify_;
    const auto wrong = co_await F::verify_out_of_band(stream_, checksums_, offset_, size, where);
    size_to_verify_.reset();
    if (!wrong) {
      verified_at_ = offset_;
    } else if (search_) {
      doubtful_until_ = std::max(doubtful_until_, offset_ + size);
      skip_possible_record();
    } else {
      fault_ = F::make_corruption(size, *wrong);
    }
  }
  co_return;  // also if no wait is needed
}

// Nothing follows the unread bytes.
template <class F>
void basic_record_reader<F>::end_file() {
  ended_ = true;
  if (search_ && search_->may_be_tail) {
    statistics_.left_over += offset_ + unread_ - search_->from;
    index_ = search_->report.index;
    search_.reset();
  } else if (search_) {
    end_search(offset_ + unread_);
  }
  drop(unread_);
}

template <class F>
void basic_record_reader<F>::end_search(std::uint64_t offset) {
  search_->report.skipped = offset - search_->from;
  pending_report_ = std::move(search_->report);
  search_.reset();
}

}  // namespace LEAT
