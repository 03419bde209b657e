#pragma once

#include <cstddef>
#include <memory>

namespace leat_test {

/// An allocator that counts its allocations. The counts outlive the allocator.
template <class T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(int& l, int& t) noexcept : live(&l), total(&t) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& o) noexcept : live(o.live), total(o.total) {}
  T* allocate(std::size_t n) {
    ++*live;
    ++*total;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    --*live;
    std::allocator<T>().deallocate(p, n);
  }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
  int* live;
  int* total;
};

}  // namespace leat_test
