#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "leat/base/bytes.hpp"

namespace LEAT::detail {

/// The bytes of a value at the time of the save: a copy, or a view if the caller does not change
/// the value.
class saved_value {
 public:
  /// Errors: std::bad_alloc.
  saved_value(byte_view bytes, bool copy);
  explicit saved_value(std::string bytes) noexcept : text_(std::move(bytes)), is_text_(true) {}

  [[nodiscard]] byte_view bytes() const noexcept { return is_text_ ? as_bytes(text_) : view_; }

 private:
  // The program waits for the copy, most of whose time the system takes to provide memory. Large
  // copies use huge pages: one page fault for each instead of 512 small ones.
  std::shared_ptr<const void> copy_;
  byte_view view_;
  std::string text_;
  bool is_text_ = false;
};

}  // namespace LEAT::detail
