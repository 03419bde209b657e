#include "leat/train/checkpoint/detail/saved_value.hpp"

#include <cstring>
#include <new>
#include <sys/mman.h>

#include "base/internal/huge_page.hpp"

namespace LEAT::detail {

saved_value::saved_value(byte_view bytes, bool copy) : view_(bytes) {
  if (!copy || bytes.empty()) return;
  const bool large = bytes.size() >= huge_page_size;
  const std::size_t alignment = large ? huge_page_size : __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  auto* const memory =
      static_cast<std::byte*>(::operator new(bytes.size(), std::align_val_t{alignment}));
  copy_ = std::shared_ptr<const void>(memory, [alignment](const void* p) noexcept {
    ::operator delete(const_cast<void*>(p), std::align_val_t{alignment});
  });
  // If the system has none, small pages are used.
  if (large) ::madvise(memory, bytes.size() / huge_page_size * huge_page_size, MADV_HUGEPAGE);
  std::memcpy(memory, bytes.data(), bytes.size());
  view_ = {memory, bytes.size()};
}

}  // namespace LEAT::detail
