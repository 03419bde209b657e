#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "leat/base/bytes.hpp"

namespace leat::detail {

/// The bytes of a value as it was when it was saved: a copy, or a view where the caller leaves the
/// value alone.
class saved_value {
 public:
  /// Errors: std::bad_alloc.
  saved_value(byte_view bytes, bool copy);
  explicit saved_value(std::string bytes) noexcept : text_(std::move(bytes)), is_text_(true) {}

  [[nodiscard]] byte_view bytes() const noexcept { return is_text_ ? as_bytes(text_) : view_; }

 private:
  // A copy is what the program waits for, and most of it is to get memory from the system: large
  // ones come in huge pages, a fault for each instead of for 512 small ones.
  std::shared_ptr<const void> copy_;
  byte_view view_;
  std::string text_;
  bool is_text_ = false;
};

}  // namespace leat::detail
