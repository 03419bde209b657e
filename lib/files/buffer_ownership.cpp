#include "files/internal/buffer_ownership.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "leat/base/internal/sanitizers.hpp"

#if LEAT_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if LEAT_TSAN
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_read_range(void* address, unsigned long size);
void __tsan_write_range(void* address, unsigned long size);
}
#endif

namespace LEAT::detail {
namespace {

using op = file_request::operation;

#if LEAT_ASAN
// The words that belong to the buffer alone. The sanitizer keeps one byte of state for each word of
// 8 bytes, and two threads may at the same time take back buffers that share a word.
std::span<std::byte> words(const file_request& r) noexcept {
  constexpr std::size_t word = 8;
  void* first = r.data;
  std::size_t space = r.size;
  if (!std::align(word, word, first, space)) return {};
  return {static_cast<std::byte*>(first), space / word * word};
}
#endif

#if LEAT_TSAN
// The thread sanitizer does not see the kernel, so this thread performs the kernel's accesses.
void touch(const file_request& r, std::size_t size) noexcept {
  if (r.what == op::read) __tsan_write_range(r.data, size);
  if (r.what == op::write) __tsan_read_range(r.data, size);
}
#endif

}  // namespace

void mark_kernel_owned([[maybe_unused]] const file_request& r) noexcept {
#if LEAT_ASAN
  if (r.what == op::read) ASAN_POISON_MEMORY_REGION(words(r).data(), words(r).size());
#endif
#if LEAT_TSAN
  touch(r, r.size);
  __tsan_release(const_cast<file_request*>(&r));
#endif
}

void mark_user_owned([[maybe_unused]] const file_request& r) noexcept {
#if LEAT_ASAN
  if (r.what == op::read) ASAN_UNPOISON_MEMORY_REGION(words(r).data(), words(r).size());
#endif
#if LEAT_TSAN
  __tsan_acquire(const_cast<file_request*>(&r));
  if (r.result > 0) touch(r, std::min(r.size, static_cast<std::size_t>(r.result)));
#endif
}

void mark_unused([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t size) noexcept {
#if LEAT_ASAN
  ASAN_POISON_MEMORY_REGION(memory, size);
#endif
}

void mark_used([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t size) noexcept {
#if LEAT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(memory, size);
#endif
}

}  // namespace LEAT::detail
