#include "leat/async/loop/detail/kept_cancellation.hpp"

#include <memory>
#include <new>

namespace LEAT::detail {

constinit thread_local kept_cancellations kept_cancellations::local{};

namespace {

// The number of handlers that a thread keeps. Each takes about 130 bytes with Asio's part.
constexpr std::size_t most_kept = 4096;

// Frees the kept handlers of a thread when it ends.
struct thread_end {
  ~thread_end() {
    kept_cancellations& all = kept_cancellations::local;
    all.closed = true;
    all.space = 0;
    while (kept_cancellation* const k = all.first) {
      all.first = k->next;
      free_kept_cancellation(*k);
    }
  }
};

}  // namespace

kept_cancellation& make_kept_cancellation(std::size_t size) {
  kept_cancellations& all = kept_cancellations::local;
  if (!all.first && all.space == 0 && !all.closed) {
    static thread_local const thread_end at_end;
    static_cast<void>(&at_end);  // constructs it
    all.space = most_kept;
  }
  void* const memory = ::operator new(sizeof(kept_cancellation) + size);
  auto* const k = ::new (memory) kept_cancellation;
  k->size = size;
  return *k;
}

void free_kept_cancellation(kept_cancellation& k) noexcept {
  k.destroy_handler();
  std::destroy_at(&k);
  ::operator delete(&k);
}

}  // namespace LEAT::detail
