#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace leat::detail {

/// Bytes in one allocation, aligned to 64 and shared by those who copy this. A value type;
/// different copies may be used, copied and destroyed by different threads.
class aligned_bytes {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line; what Arrow asks for

  /// None.
  aligned_bytes() noexcept = default;
  /// So many, uninitialised. Errors: std::bad_alloc.
  explicit aligned_bytes(std::size_t size) {
    if (size == 0) return;
    if (size > PTRDIFF_MAX - sizeof(header)) throw std::bad_alloc();
    void* const memory = ::operator new(sizeof(header) + size, std::align_val_t{alignment});
    header_ = ::new (memory) header{{1}, size};
  }
  aligned_bytes(const aligned_bytes& o) noexcept : header_(o.header_) {
    // relaxed: whoever copies a reference has one, so the count cannot come to 0 meanwhile.
    if (header_) header_->references.fetch_add(1, std::memory_order_relaxed);
  }
  aligned_bytes(aligned_bytes&& o) noexcept : header_(std::exchange(o.header_, nullptr)) {}
  aligned_bytes& operator=(aligned_bytes o) noexcept {
    std::swap(header_, o.header_);
    return *this;
  }
  ~aligned_bytes() {
    // acq_rel: the memory is freed after everybody's last look at it.
    if (header_ && header_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      ::operator delete(header_, std::align_val_t{alignment});
    }
  }

  [[nodiscard]] std::byte* data() const noexcept {
    return header_ ? reinterpret_cast<std::byte*>(header_ + 1) : nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return header_ ? header_->size : 0; }

  /// False when there is another copy: nobody may write then.
  [[nodiscard]] bool sole_owner() const noexcept {
    // acquire: what the others read comes before what is written now.
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

}  // namespace leat::detail
