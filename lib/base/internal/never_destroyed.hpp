#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A static object that is constructed like any other and never destroyed.
///
/// std::exit() destroys static objects while other threads still run tasks, and destructors of the
/// user's static objects may use the library. So the library's own static objects stay alive until
/// the process ends.
template <class T>
class never_destroyed {
 public:
  template <class... Args>
  explicit never_destroyed(Args&&... args) {
    ::new (static_cast<void*>(storage_)) T(std::forward<Args>(args)...);
  }
  never_destroyed(const never_destroyed&) = delete;
  never_destroyed& operator=(const never_destroyed&) = delete;

  [[nodiscard]] T& get() noexcept { return *std::launder(reinterpret_cast<T*>(storage_)); }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace LEAT::detail
