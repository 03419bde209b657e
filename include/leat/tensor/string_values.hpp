#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The strings of a tensor, as views. A string is a sequence of any bytes, not necessarily text.
///
/// The strings are contiguous; string i begins at offset i and ends where the next one begins. This
/// is the layout of Arrow's large_binary. A batch of strings is made by copying bytes, without the
/// allocation for each string that a column of std::string needs.
///
/// It must not outlive the tensor. Thread safety: thread-compatible.
class string_values {
 public:
  using value_type = std::string_view;

  /// An iterator over the strings.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = std::string_view;

    iterator() noexcept = default;
    std::string_view operator*() const noexcept {
      return {bytes_ + offset_[0], static_cast<std::size_t>(offset_[1] - offset_[0])};
    }
    iterator& operator++() noexcept {
      ++offset_;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++offset_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.offset_ == b.offset_;
    }

   private:
    friend class string_values;
    iterator(const std::int64_t* offset, const char* bytes) noexcept
        : offset_(offset), bytes_(bytes) {}
    const std::int64_t* offset_ = nullptr;
    const char* bytes_ = nullptr;
  };

  string_values() noexcept = default;
  string_values(const std::int64_t* offsets, std::size_t count, const char* bytes) noexcept
      : offsets_(offsets), count_(count), bytes_(bytes) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Precondition: index < size().
  [[nodiscard]] std::string_view operator[](std::size_t index) const noexcept {
    return *iterator(offsets_ + index, bytes_);
  }

  /// Returns the offset of each string in bytes(), and then the end of the last one: size() + 1
  /// numbers, the first one 0. Empty if there is no string.
  [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept {
    return {offsets_, empty() ? 0 : count_ + 1};
  }
  /// Returns the bytes of all strings, contiguously.
  [[nodiscard]] std::string_view bytes() const noexcept {
    return {bytes_, empty() ? 0 : static_cast<std::size_t>(offsets_[count_])};
  }

  [[nodiscard]] iterator begin() const noexcept { return {offsets_, bytes_}; }
  [[nodiscard]] iterator end() const noexcept { return {offsets_ + count_, bytes_}; }

 private:
  const std::int64_t* offsets_ = nullptr;
  std::size_t count_ = 0;
  const char* bytes_ = nullptr;
};

}  // namespace LEAT
