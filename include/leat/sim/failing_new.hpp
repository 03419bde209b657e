#pragma once

// Replaces operator new and delete of a program, so that allocations in a simulated world fail as
// memory_options describes. Include it in exactly one source of a test program, and in no library,
// because a program has one operator new. It is not part of leat.hpp.
//
// Outside of a world, memory comes from malloc() as usual. Allocations that do not use operator
// new, such as those of C libraries, do not fail.
//
// It works with the address and the undefined behaviour sanitizer. These observe malloc() and
// free(), so they no longer report a delete that does not match its new. It does not work with
// clang's thread sanitizer, which defines these operators itself and cannot be linked with others.
// A world has only one thread anyway.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "leat/sim/allocation_faults.hpp"

namespace LEAT::sim::detail {

inline void* failing_malloc(std::size_t size) noexcept {
  return allocation_faults::next_fails() ? nullptr : std::malloc(std::max<std::size_t>(size, 1));
}

inline void* failing_malloc(std::size_t size, std::align_val_t alignment) noexcept {
  void* memory = nullptr;
  const std::size_t unit = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  if (allocation_faults::next_fails() || ::posix_memalign(&memory, unit, size) != 0) return nullptr;
  return memory;
}

inline void* throw_if_null(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace LEAT::sim::detail

void* operator new(std::size_t size) {
  return leat::sim::detail::throw_if_null(leat::sim::detail::failing_malloc(size));
}
void* operator new[](std::size_t size) {
  return leat::sim::detail::throw_if_null(leat::sim::detail::failing_malloc(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return leat::sim::detail::throw_if_null(leat::sim::detail::failing_malloc(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return leat::sim::detail::throw_if_null(leat::sim::detail::failing_malloc(size, alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return leat::sim::detail::failing_malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return leat::sim::detail::failing_malloc(size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return leat::sim::detail::failing_malloc(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return leat::sim::detail::failing_malloc(size, alignment);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
