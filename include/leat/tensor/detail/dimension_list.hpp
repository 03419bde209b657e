#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Dimensions of a shape; up to four without an allocation. A moved-from list is empty.
class dimension_list {
 public:
  dimension_list() noexcept : inline_{} {}
  explicit dimension_list(std::size_t count) : count_(count), inline_{} {
    if (count > inline_count) heap_ = new std::int64_t[count]{};
  }
  explicit dimension_list(std::span<const std::int64_t> from) : dimension_list(from.size()) {
    std::copy(from.begin(), from.end(), data());
  }
  dimension_list(const dimension_list& o) : dimension_list(o.all()) {}
  dimension_list(dimension_list&& o) noexcept : count_(o.count_), inline_{} { take(o); }
  dimension_list& operator=(const dimension_list& o) {
    if (this != &o) *this = dimension_list(o);
    return *this;
  }
  dimension_list& operator=(dimension_list&& o) noexcept {
    if (this == &o) return *this;
    free();
    count_ = o.count_;
    take(o);
    return *this;
  }
  ~dimension_list() { free(); }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::int64_t* data() noexcept { return count_ > inline_count ? heap_ : inline_; }
  [[nodiscard]] const std::int64_t* data() const noexcept {
    return count_ > inline_count ? heap_ : inline_;
  }
  [[nodiscard]] std::span<const std::int64_t> all() const noexcept { return {data(), count_}; }

  friend bool operator==(const dimension_list& a, const dimension_list& b) noexcept {
    return std::equal(a.data(), a.data() + a.count_, b.data(), b.data() + b.count_);
  }

 private:
  static constexpr std::size_t inline_count = 4;

  void free() noexcept {
    if (count_ > inline_count) delete[] heap_;
  }
  void take(dimension_list& o) noexcept {
    if (count_ > inline_count) {
      heap_ = o.heap_;
    } else {
      std::copy(o.inline_, o.inline_ + inline_count, inline_);
    }
    o.count_ = 0;
  }

  std::size_t count_ = 0;
  union {
    std::int64_t inline_[inline_count];
    std::int64_t* heap_;
  };
};

}  // namespace LEAT::detail
