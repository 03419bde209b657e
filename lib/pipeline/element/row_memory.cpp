#include "leat/pipeline/element/detail/row_memory.hpp"

#include <algorithm>
#include <memory>
#include <sys/mman.h>

#include "base/internal/huge_page.hpp"

namespace LEAT::detail {

// From the heap, which may have free memory that was in use before: then there is no page fault.
void row_memory::begin_slab() {
  constexpr std::size_t most = std::size_t{32} << 20;
  const std::size_t size = std::min(2 * size_, most);
  auto* const memory = static_cast<char*>(::operator new(size));
  void* whole = memory;
  std::size_t room = size;
  if (std::align(huge_page_size, huge_page_size, whole, room)) {
    ::madvise(whole, room / huge_page_size * huge_page_size, MADV_HUGEPAGE);
  }
  if (slab_) leave(*slab_);
  slab_ = ::new (memory) slab;
  size_ = size;
  next_ = memory + sizeof(slab);
  left_ = size - sizeof(slab);
}

}  // namespace LEAT::detail
