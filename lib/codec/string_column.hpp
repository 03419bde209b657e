#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "leat/tensor/tensor.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT::detail {

/// Strings that become a tensor. They are collected one by one, and their total size is not known
/// in advance.
class string_column {
 public:
  /// Appends texts to reserved memory without access to the column.
  class addition {
   public:
    /// `readable`: the number of bytes from the first byte of the text on that can be read; may
    /// exceed the text.
    void add(std::string_view text, std::size_t readable = 0) noexcept {
      if (text.size() <= at_once && readable >= at_once) {
        std::memcpy(bytes_ + used_, text.data(), at_once);  // no call, and no loop
      } else if (!text.empty()) {
        std::memcpy(bytes_ + used_, text.data(), text.size());
      }
      used_ += text.size();
      *end_++ = static_cast<std::int64_t>(used_);
    }

   private:
    friend class string_column;
    char* bytes_;
    std::size_t used_;
    std::int64_t* end_;
  };

  void reserve(std::size_t count) { grow(ends_, ends_capacity_, count_, count); }

  void add(std::string_view text) {
    addition more = begin(1, text.size());
    more.add(text);
    finish(more);
  }

  /// Reserves memory for `count` texts of at most `size` bytes in total. They become part of the
  /// column by finish().
  [[nodiscard]] addition begin(std::size_t count, std::size_t size) {
    grow(bytes_, bytes_capacity_, used_, size + at_once);
    grow(ends_, ends_capacity_, count_, count);
    addition more;
    more.bytes_ = bytes_.get();
    more.used_ = used_;
    more.end_ = ends_.get() + count_;
    return more;
  }
  void finish(const addition& more) noexcept {
    used_ = more.used_;
    count_ = static_cast<std::size_t>(more.end_ - ends_.get());
  }

  /// Removes the last texts.
  void drop_last(std::size_t count) noexcept {
    count_ -= count;
    used_ = count_ == 0 ? 0 : static_cast<std::size_t>(ends_[count_ - 1]);
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Precondition: the shape has as many texts as were added. Errors: std::bad_alloc.
  [[nodiscard]] tensor take(shape s) const {
    tensor all = tensor_builder::strings(std::move(s), used_);
    if (count_ == 0) return all;
    std::memcpy(tensor_builder::offsets(all) + 1, ends_.get(), count_ * sizeof ends_[0]);
    if (used_ > 0) std::memcpy(tensor_builder::text(all), bytes_.get(), used_);
    return all;
  }

 private:
  static constexpr std::size_t at_once = 16;

  // Not std::vector, which would clear new memory.
  template <class T>
  static void grow(std::unique_ptr<T[]>& all, std::size_t& capacity, std::size_t used,
                   std::size_t by) {
    if (capacity - used >= by) return;
    const std::size_t more = std::max(2 * capacity, used + by);
    auto larger = std::make_unique_for_overwrite<T[]>(more);
    if (used > 0) std::memcpy(larger.get(), all.get(), used * sizeof(T));
    all = std::move(larger);
    capacity = more;
  }

  std::unique_ptr<char[]> bytes_;  // the first `used_` of them
  std::size_t bytes_capacity_ = 0;
  std::size_t used_ = 0;
  std::unique_ptr<std::int64_t[]> ends_;  // the first `count_` of them
  std::size_t ends_capacity_ = 0;
  std::size_t count_ = 0;
};

}  // namespace LEAT::detail
