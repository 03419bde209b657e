#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/tensor_maker.hpp"
#include "leat/core/tensor.hpp"

namespace leat::detail {

/// Strings that become a tensor: collected one by one, of which nobody knows beforehand how many
/// bytes they are.
class string_column {
 public:
  void reserve(std::size_t count) { ends_.reserve(count); }

  /// `readable`: bytes from the first of the text on that can be read, which may be more.
  void add(std::string_view text, std::size_t readable = 0) {
    if (bytes_.size() - used_ < text.size() + at_once) grow(text.size() + at_once);
    if (text.size() <= at_once && readable >= at_once) {
      std::memcpy(bytes_.data() + used_, text.data(), at_once);  // no call, and no loop
    } else if (!text.empty()) {
      std::memcpy(bytes_.data() + used_, text.data(), text.size());
    }
    used_ += text.size();
    ends_.push_back(static_cast<std::int64_t>(used_));
  }

  /// Takes the last ones away.
  void drop_last(std::size_t count) noexcept {
    ends_.resize(ends_.size() - count);
    used_ = ends_.empty() ? 0 : static_cast<std::size_t>(ends_.back());
  }

  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }

  /// Precondition: as many were added as the shape has. Errors: std::bad_alloc.
  [[nodiscard]] tensor take(shape s) const {
    tensor all = tensor_maker::strings(std::move(s), used_);
    if (ends_.empty()) return all;
    std::memcpy(tensor_maker::offsets(all) + 1, ends_.data(), ends_.size() * sizeof ends_[0]);
    if (used_ > 0) std::memcpy(tensor_maker::text(all), bytes_.data(), used_);
    return all;
  }

 private:
  static constexpr std::size_t at_once = 16;

  void grow(std::size_t by) { bytes_.resize(std::max(2 * bytes_.size(), used_ + by)); }

  std::vector<char> bytes_;  // the first `used_` of them
  std::size_t used_ = 0;
  std::vector<std::int64_t> ends_;
};

}  // namespace leat::detail
