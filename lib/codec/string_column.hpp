#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
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

  void add(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
  }

  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }

  /// Precondition: as many were added as the shape has. Errors: std::bad_alloc.
  [[nodiscard]] tensor take(shape s) const {
    tensor all = tensor_maker::strings(std::move(s), bytes_.size());
    if (ends_.empty()) return all;
    std::memcpy(tensor_maker::offsets(all) + 1, ends_.data(), ends_.size() * sizeof ends_[0]);
    std::memcpy(tensor_maker::text(all), bytes_.data(), bytes_.size());
    return all;
  }

 private:
  std::string bytes_;
  std::vector<std::int64_t> ends_;
};

}  // namespace leat::detail
