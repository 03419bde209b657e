#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A std::unique_ptr for members in public headers. Each std::unique_ptr<T> adds 10 ms to the
/// compilation of every file that includes it; this class adds almost nothing. T must be complete
/// where the object is constructed, moved and destroyed.
template <class T>
class pimpl {
 public:
  pimpl() noexcept = default;
  template <class U>
  pimpl(std::unique_ptr<U> p) noexcept : p_(p.release()) {}
  pimpl(pimpl&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  pimpl& operator=(pimpl&& other) noexcept {
    pimpl taken(std::move(other));
    std::swap(p_, taken.p_);
    return *this;
  }
  ~pimpl() {
    static_assert(sizeof(T) > 0, "T must be complete here");
    delete p_;
  }

  [[nodiscard]] T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  [[nodiscard]] T* release() noexcept { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

template <class T>
class pimpl<T[]> {
 public:
  pimpl() noexcept = default;
  explicit pimpl(T* array) noexcept : p_(array) {}
  pimpl(pimpl&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  pimpl& operator=(pimpl&& other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~pimpl() { delete[] p_; }

  [[nodiscard]] T* get() const noexcept { return p_; }
  T& operator[](std::size_t index) const noexcept { return p_[index]; }
  explicit operator bool() const noexcept { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

}  // namespace LEAT::detail
