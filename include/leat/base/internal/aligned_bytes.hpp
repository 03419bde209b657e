#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Bytes in one allocation, aligned to 64 and shared by the copies of this object. Different
/// threads may use, copy and destroy different copies.
class aligned_bytes {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line; what Arrow asks for

  /// No bytes.
  aligned_bytes() noexcept = default;
  /// Allocates `size` uninitialised bytes. Errors: std::bad_alloc.
  explicit aligned_bytes(std::size_t size) {
    if (size == 0) return;
    if (size > PTRDIFF_MAX - sizeof(header)) throw std::bad_alloc();
    void* const memory = ::operator new(sizeof(header) + size, std::align_val_t{alignment});
    header_ = ::new (memory) header{{1}, size};
  }
  aligned_bytes(const aligned_bytes& o) noexcept : header_(o.header_) {
    // relaxed: a copy is made from an existing reference, so the count cannot reach 0 meanwhile.
    if (header_) header_->references.fetch_add(1, std::memory_order_relaxed);
  }
  aligned_bytes(aligned_bytes&& o) noexcept : header_(std::exchange(o.header_, nullptr)) {}
  aligned_bytes& operator=(aligned_bytes o) noexcept {
    std::swap(header_, o.header_);
    return *this;
  }
  ~aligned_bytes() {
    // acq_rel: the memory is freed after the last access of every thread.
    if (header_ && header_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      ::operator delete(header_, std::align_val_t{alignment});
    }
  }

  [[nodiscard]] std::byte* data() const noexcept {
    return header_ ? reinterpret_cast<std::byte*>(header_ + 1) : nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return header_ ? header_->size : 0; }

  /// Returns false if another copy exists; then no thread may write.
  [[nodiscard]] bool sole_owner() const noexcept {
    // acquire: earlier reads of other threads happen before the writes that follow.
    return !header_ || header_->references.load(std::memory_order_acquire) == 1;
  }

 private:
  struct alignas(alignment) header {
    std::atomic<std::size_t> references;
    std::size_t size;
  };
  static_assert(sizeof(header) == alignment);

  header* header_ = nullptr;
};

}  // namespace LEAT::detail
