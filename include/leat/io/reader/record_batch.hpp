#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/io/stream/detail/chunk.hpp"

namespace LEAT {

template <class Framing>
class basic_record_reader;

/// The position of a record. It serves as the key of the record, as context in errors, and as the
/// position that a checkpoint stores.
struct record_position {
  std::string_view path;     ///< valid as long as the batch or reader that it came from
  std::uint64_t offset = 0;  ///< of its first byte, including the frame, in the file
  std::uint64_t index = 0;   ///< number of records before it in the file
};

/// Returns a position as text for messages, such as "a.tfrecord, record 3 at offset 48".
[[nodiscard]] inline std::string format_record_position(const record_position& p) {
  return std::string(p.path) + ", record " + std::to_string(p.index) + " at offset " +
         std::to_string(p.offset);
}

/// Like format_record_position(), but for a line, counted from 1, such as "a.csv:7 at offset 120".
[[nodiscard]] inline std::string format_line_position(const record_position& p) {
  return std::string(p.path) + ":" + std::to_string(p.index + 1) + " at offset " +
         std::to_string(p.offset);
}

/// A batch of consecutive records of one file: views into memory that the batch keeps alive.
///
/// A reader's read_batch() fills the same batch again and again, so reading allocates nothing in
/// steady state. A batch may be moved to another thread and may outlive its reader. Keeping many
/// batches keeps their chunks of the file in memory. A copy shares the memory.
///
/// Thread safety: thread-compatible.
template <class View>
class basic_record_batch {
 public:
  using value_type = View;

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  [[nodiscard]] View operator[](std::size_t i) const noexcept { return records_[i]; }
  [[nodiscard]] auto begin() const noexcept { return records_.begin(); }
  [[nodiscard]] auto end() const noexcept { return records_.end(); }

  /// Returns the path of the file of the records, or an empty view if the batch has none.
  [[nodiscard]] std::string_view path() const noexcept {
    return path_ ? *path_ : std::string_view();
  }

  /// Returns the position of record `i`. Cost: O(1), a few ns.
  [[nodiscard]] record_position position(std::size_t i) const noexcept {
    const auto* at = reinterpret_cast<const std::byte*>(records_[i].data());
    return {path(), offset_ + static_cast<std::uint64_t>(at - data_) - frame_, index_ + i};
  }

  /// Returns an owner of the string that path() views; it stays valid as long as the owner exists.
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return path_; }

  /// Removes the first `count` records from the batch. Precondition: `count` is at most size().
  /// Cost: O(size).
  void drop_front(std::size_t count) {
    LEAT_ASSERT(count <= records_.size(),
                "record_batch::drop_front() of more records than the batch has");
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(count));
    index_ += count;
  }

  /// Returns a batch of `count` records, beginning with record `first`, that shares the memory.
  /// Precondition: the batch has these records. Cost: O(count), one allocation.
  [[nodiscard]] basic_record_batch slice(std::size_t first, std::size_t count) const {
    LEAT_ASSERT(first <= size() && count <= size() - first,
                "record_batch::slice() after the end of the batch");
    basic_record_batch part;
    const auto begin = records_.begin() + static_cast<std::ptrdiff_t>(first);
    part.records_.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    part.keeper_ = keeper_;
    part.path_ = path_;
    part.data_ = data_;
    part.offset_ = offset_;
    part.index_ = index_ + first;
    part.frame_ = frame_;
    return part;
  }

  /// Removes all records and releases their memory.
  void clear() noexcept {
    records_.clear();
    keeper_ = {};
  }

 private:
  template <class Framing>
  friend class basic_record_reader;
  friend class identity_reader;

  std::vector<View> records_;
  detail::chunk_reference keeper_;
  std::shared_ptr<const std::string> path_;
  const std::byte* data_ = nullptr;  // the byte at offset_
  std::uint64_t offset_ = 0;
  std::uint64_t index_ = 0;  // of the first record
  std::size_t frame_ = 0;    // bytes of a record before its data
};

/// A batch of records whose data are bytes, as in a TFRecord file.
using record_batch = basic_record_batch<byte_view>;
/// A batch of lines of a text file.
using line_batch = basic_record_batch<std::string_view>;

}  // namespace LEAT
