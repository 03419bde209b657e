#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "leat/pipeline/detail/owned_run.hpp"
#include "leat/pipeline/rows.hpp"

namespace leat::detail {

/// Asks for the line of memory at an address, which need not be one. The empty statement is not for
/// the processor: g++ takes a function that only asks for one without effect, and leaves its calls
/// out.
inline void ask_for(const void* address) noexcept {
  __builtin_prefetch(address);
  asm volatile("");
}

/// Rows that each have their memory to themselves, and came with it: nothing was copied.
///
/// Movable. Thread safety: distinct-safe.
template <class View>
class drawn_rows {
 public:
  using value_type = View;

  drawn_rows() = default;
  drawn_rows(drawn_rows&& other) noexcept
      : rows_(std::move(other.rows_)), size_(std::exchange(other.size_, 0)) {}
  drawn_rows& operator=(drawn_rows&& other) noexcept {
    rows_ = std::move(other.rows_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = View;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = View;

    iterator() noexcept = default;
    explicit iterator(const std::vector<char>* at) noexcept : at_(at) {}
    View operator*() const noexcept {
      return View(reinterpret_cast<typename View::const_pointer>(at_->data()), at_->size());
    }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    iterator operator+(std::ptrdiff_t n) const noexcept { return iterator(at_ + n); }
    iterator operator++(int) noexcept { return iterator(at_++); }
    friend bool operator==(const iterator&, const iterator&) noexcept = default;

   private:
    const std::vector<char>* at_ = nullptr;
  };

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] iterator begin() const noexcept { return iterator(rows_.data()); }
  [[nodiscard]] iterator end() const noexcept { return begin() + std::ptrdiff_t(size_); }

  /// Adds a row, and leaves in its place the memory of one that was there before clear(), if any.
  /// It is in no cache: its beginning is asked for, behind which the processor itself goes on.
  /// Errors: std::bad_alloc; then nothing was added.
  void exchange(std::vector<char>& row) {
    if (size_ == rows_.size()) rows_.emplace_back();
    constexpr std::size_t line = 64;
    constexpr std::size_t lines = 32;
    const std::size_t beginning = std::min(row.size(), line * lines);
    for (std::size_t at = 0; at < beginning; at += line) ask_for(row.data() + at);
    rows_[size_++].swap(row);
  }
  /// Adds a copy of a row. Errors: std::bad_alloc; then nothing was added.
  void push_back(View row) {
    const auto* const from = reinterpret_cast<const char*>(row.data());
    std::vector<char> copy(from, from + row.size());
    exchange(copy);
  }

  /// Forgets the rows, not the memory.
  void clear() noexcept { size_ = 0; }

 private:
  std::vector<std::vector<char>> rows_;  // the first `size_` of them, and memory for others
  std::size_t size_ = 0;
};

template <class View>
struct owned<drawn_rows<View>> {
  using type = basic_rows<View>;
};

/// The run of what a shuffle buffer gives of a run's elements.
template <class Run>
struct drawn {
  using type = Run;
};
template <class View>
struct drawn<basic_rows<View>> {
  using type = drawn_rows<View>;
};
template <class Run>
using drawn_run = typename drawn<owned_run<Run>>::type;

}  // namespace leat::detail
