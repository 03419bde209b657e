#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/base/internal/aligned_bytes.hpp"
#include "leat/io/reader/record_batch.hpp"

namespace LEAT {

/// Records from any positions of one file or several files, in the order in which they were
/// requested.
///
/// The records are views into memory that the selection keeps alive. tfrecord_file::read() and
/// indexed_reader::read_batch() fill a selection. Use one selection for many calls: they reuse its
/// memory unless another object shares it. A selection may be moved to another thread and may
/// outlive the file. A copy shares the memory.
///
/// Thread safety: thread-compatible.
class record_selection {
 public:
  using value_type = byte_view;

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  [[nodiscard]] byte_view operator[](std::size_t i) const noexcept { return records_[i]; }
  [[nodiscard]] auto begin() const noexcept { return records_.begin(); }
  [[nodiscard]] auto end() const noexcept { return records_.end(); }

  /// Returns the path of the file of the first record; empty if there are no records.
  [[nodiscard]] std::string_view path() const noexcept {
    return empty() ? std::string_view() : *entries_[0].path;
  }

  /// Returns the position of the i-th record in its file.
  /// Cost: O(1).
  [[nodiscard]] record_position position(std::size_t i) const noexcept {
    return {*entries_[i].path, entries_[i].offset, entries_[i].index};
  }

  /// Returns an owner that keeps alive the paths to which all positions refer.
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return paths_; }

  /// Returns the index of the i-th record, from 0, among the records of all files of the reader. In
  /// a selection from a single tfrecord_file, it is the index in that file.
  [[nodiscard]] std::uint64_t global_index(std::size_t i) const noexcept {
    return entries_[i].global_index;
  }

  /// Returns the `count` records that begin with record `first`; they share the memory.
  /// Precondition: the selection has these records.
  /// Cost:         O(count), two allocations.
  [[nodiscard]] record_selection slice(std::size_t first, std::size_t count) const;

  /// Removes the records and releases their memory.
  void clear() noexcept {
    forget();
    memory_ = {};
  }

 private:
  friend class indexed_reader;
  friend class tfrecord_file;

  struct entry {
    std::uint64_t offset;
    std::uint64_t index;
    std::uint64_t global_index;
    const std::string* path;  // kept by paths_
  };

  void forget() noexcept {
    records_.clear();
    entries_.clear();
  }

  std::vector<byte_view> records_;
  std::vector<entry> entries_;
  detail::aligned_bytes memory_;
  std::shared_ptr<const void> paths_;
};

/// A single record and the memory that stores it.
///
/// A value type; a copy shares the memory. It may outlive the file.
///
/// Thread safety: thread-compatible.
class owned_record {
 public:
  /// Returns the bytes of the record, valid as long as this object or a copy of it exists.
  [[nodiscard]] byte_view payload() const noexcept { return payload_; }
  operator byte_view() const noexcept { return payload_; }

  /// Returns the position of the record in its file.
  [[nodiscard]] record_position position() const noexcept { return {*path_, offset_, index_}; }

 private:
  friend class tfrecord_file;

  owned_record() = default;

  detail::aligned_bytes memory_;
  byte_view payload_;
  std::shared_ptr<const std::string> path_;
  std::uint64_t offset_ = 0;
  std::uint64_t index_ = 0;
};

}  // namespace LEAT
