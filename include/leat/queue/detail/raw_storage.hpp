#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Memory for one value, which the user of this object constructs.
template <class T>
class raw_storage {
 public:
  raw_storage() noexcept {}  // not defaulted: that would fill the bytes with zeros
  // Moved only with an operation that has not been tried: there is no value.
  raw_storage(raw_storage&&) noexcept {}

  [[nodiscard]] T* get() noexcept { return reinterpret_cast<T*>(bytes_); }
  /// Moves the value out and destroys it here.
  [[nodiscard]] T take() noexcept {
    T* const value = std::launder(get());
    T result(std::move(*value));
    std::destroy_at(value);
    return result;
  }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

}  // namespace LEAT::detail
