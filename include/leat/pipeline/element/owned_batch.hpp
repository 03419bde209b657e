#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/io/reader/record_batch.hpp"

namespace LEAT {

/// A batch of records or lines that owns their bytes, stored contiguously in one block of memory.
/// It is what shuffle() and batch() make of a file's batches.
///
///     for (const leat::byte_view record : rows) use(record);
///     const auto features = parser.parse(rows.views());
///
/// A value type.
///
/// Thread safety: thread-compatible.
/// Cost:          allocates only when the batch grows, not for each row.
template <class View>
class basic_owned_batch {
 public:
  using value_type = View;

  /// An iterator over the rows.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = View;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = View;

    iterator() noexcept = default;
    View operator*() const noexcept { return (*rows_)[index_]; }
    iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    iterator operator+(std::ptrdiff_t n) const noexcept {
      return {*rows_, index_ + static_cast<std::size_t>(n)};
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.index_ == b.index_;
    }

   private:
    friend class basic_owned_batch;
    iterator(const basic_owned_batch& rows, std::size_t index) noexcept
        : rows_(&rows), index_(index) {}
    const basic_owned_batch* rows_ = nullptr;
    std::size_t index_ = 0;
  };

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Returns the number of bytes of all rows.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }

  /// Returns the i-th row, which is valid until rows are added. Precondition: i < size().
  [[nodiscard]] View operator[](std::size_t i) const noexcept {
    const std::size_t begin = i == 0 ? 0 : rows_[i - 1].end;
    const char* const at = bytes_.data() + begin;
    return View(reinterpret_cast<typename View::const_pointer>(at), rows_[i].end - begin);
  }
  /// Returns the position of the i-th row in its file. The path is valid as long as the rows; it is
  /// empty for rows that do not come from a file. Precondition: i < size().
  [[nodiscard]] record_position position(std::size_t i) const noexcept {
    const entry& r = rows_[i];
    return {r.path ? std::string_view(r.path) : std::string_view(), r.offset, r.index};
  }
  /// Returns the owner of the memory that the paths refer to.
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return paths_; }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, size()}; }

  /// Returns all rows, for decoders. They are valid until rows are added.
  ///
  /// Cost: one allocation.
  [[nodiscard]] std::vector<View> views() const {
    std::vector<View> all;
    all.reserve(size());
    for (const View row : *this) all.push_back(row);
    return all;
  }

  /// Adds a copy of a row.
  ///
  /// Errors: std::bad_alloc; then nothing was added.
  void push_back(View row) { push_back(row, {}); }
  /// Adds a copy of a row with its position. A 0 must follow the path in memory, as in the paths of
  /// blocks. Call keep_paths() to keep the path alive.
  void push_back(View view, const record_position& from) {
    const std::size_t before = bytes_.size();
    const auto* const bytes = reinterpret_cast<const char*>(view.data());
    bytes_.insert(bytes_.end(), bytes, bytes + view.size());
    try {
      rows_.push_back({bytes_.size(), from.path.data(), from.offset, from.index});
    } catch (...) {
      bytes_.resize(before);
      throw;
    }
  }
  /// Keeps `paths`, which owns the paths of rows, alive as long as the batch.
  ///
  /// Errors: std::bad_alloc.
  void keep_paths(std::shared_ptr<const void> paths) {
    if (paths == paths_) return;
    if (paths_ && !empty()) {
      using both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
      paths = std::make_shared<const both>(std::move(paths), std::move(paths_));
    }
    paths_ = std::move(paths);
  }

  /// Reserves memory for `rows` rows that have `bytes` bytes in total.
  ///
  /// Errors: std::bad_alloc.
  void reserve(std::size_t rows, std::size_t bytes) {
    rows_.reserve(rows);
    bytes_.reserve(bytes);
  }

  /// Removes all rows and keeps the memory.
  void clear() noexcept {
    bytes_.clear();
    rows_.clear();
  }

 private:
  struct entry {
    std::size_t end;   // of its bytes
    const char* path;  // where it stood; null: unknown
    std::uint64_t offset;
    std::uint64_t index;
  };

  std::vector<char> bytes_;
  std::vector<entry> rows_;
  std::shared_ptr<const void> paths_;
};

/// A batch that owns the bytes of its records.
using owned_record_batch = basic_owned_batch<byte_view>;
/// A batch that owns the text of its lines.
using owned_line_batch = basic_owned_batch<std::string_view>;

}  // namespace LEAT
