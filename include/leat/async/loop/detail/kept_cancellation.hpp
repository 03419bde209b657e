#pragma once

#include <cstddef>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The cancellation handler of a composed Asio operation that has ended, kept for the next one.
///
/// Such a handler passes a cancellation on to the inner operation, whose own handler has memory
/// from a cache of Asio that holds one block per thread. That block returns to the cache when the
/// outer handler is destroyed. If this happens directly before the next composed operation starts,
/// that operation finds the block there, and needs no other memory.
///
/// The handler follows this object in memory.
struct alignas(std::max_align_t) kept_cancellation {
  kept_cancellation* next = nullptr;
  void (*destroy)(void* handler) noexcept = nullptr;  // null if there is no handler
  std::size_t size = 0;                               // of the memory for it

  [[nodiscard]] void* get() noexcept { return this + 1; }
  void destroy_handler() noexcept {
    if (destroy) std::exchange(destroy, nullptr)(get());
  }
};

/// The kept handlers of a thread. Trivially destructible, like frame_cache.
struct kept_cancellations {
  kept_cancellation* first;
  std::size_t space;  // for more; 0 before the first use and after the thread's end
  bool closed;        // the thread ends

  static constinit thread_local kept_cancellations local
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;
};

[[nodiscard]] kept_cancellation& make_kept_cancellation(std::size_t size);
void free_kept_cancellation(kept_cancellation& k) noexcept;

/// Returns memory for a handler of `size` bytes. Errors: std::bad_alloc. Cost: O(1); an allocation
/// if more composed operations are in progress than ever before.
[[nodiscard]] inline kept_cancellation& take_kept_cancellation(std::size_t size) {
  kept_cancellations& all = kept_cancellations::local;
  kept_cancellation* const k = all.first;
  if (!k || k->size < size) return make_kept_cancellation(size);
  all.first = k->next;
  ++all.space;
  k->destroy_handler();
  return *k;
}

/// Keeps a handler whose operation has ended.
inline void keep_cancellation(kept_cancellation& k) noexcept {
  kept_cancellations& all = kept_cancellations::local;
  if (all.space == 0) return free_kept_cancellation(k);
  --all.space;
  k.next = all.first;
  all.first = &k;
}

}  // namespace LEAT::detail
