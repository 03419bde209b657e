#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Memory for many rows at once, in huge pages: one page fault for each instead of 512 small ones.
///
/// The owner of a piece returns it, even after the row_memory was destroyed. A slab is freed when
/// all of its pieces are returned; until then the memory of a returned piece is not reused.
/// Thread safety: all pieces of one row_memory together are thread-compatible.
class row_memory {
 public:
  row_memory() noexcept = default;
  row_memory(const row_memory&) = delete;
  row_memory& operator=(const row_memory&) = delete;
  ~row_memory() {
    if (slab_) leave(*slab_);
  }

  /// Returns null for a large row and within the first 2 MiB, which use the heap: less memory needs
  /// no huge page. Errors: std::bad_alloc.
  [[nodiscard]] char* take(std::size_t size) {
    if (size > largest) return nullptr;
    const std::size_t needed = (sizeof(piece) + size + alignof(piece) - 1) & ~(alignof(piece) - 1);
    if (heap_bytes_ < heap_bytes_before_slabs) {
      heap_bytes_ += needed;
      return nullptr;
    }
    if (left_ < needed) begin_slab();
    left_ -= needed;
    ++slab_->pieces;
    return reinterpret_cast<char*>(::new (std::exchange(next_, next_ + needed)) piece{slab_} + 1);
  }

  static void give_back(char* row) noexcept { leave(*(reinterpret_cast<piece*>(row) - 1)->from); }

 private:
  static constexpr std::size_t heap_bytes_before_slabs = std::size_t{2} << 20;
  static constexpr std::size_t largest = heap_bytes_before_slabs / 32;

  struct slab {
    std::size_t pieces = 1;  // in use, and one for the row_memory itself
  };
  struct piece {  // in front of each row
    slab* from;
  };

  void begin_slab();
  static void leave(slab& s) noexcept {
    if (--s.pieces == 0) ::operator delete(&s);
  }

  slab* slab_ = nullptr;
  char* next_ = nullptr;  // in the slab
  std::size_t left_ = 0;  // in the slab
  std::size_t size_ =
      heap_bytes_before_slabs;  // bytes; each slab is twice as large as the last, up to 32 MiB
  std::size_t heap_bytes_ = 0;  // bytes of the first rows, which are on the heap
};

/// The bytes of a row that replaces other rows: memory that is large enough is reused.
class row_bytes {
 public:
  row_bytes() noexcept = default;
  row_bytes(row_bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  row_bytes& operator=(row_bytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~row_bytes() { free(); }

  /// The memory of a large row is not kept for a small one. New memory comes from `memory` if it
  /// has some. Errors: std::bad_alloc; the row is then unchanged or empty.
  void assign(const char* data, std::size_t size, row_memory* memory = nullptr) {
    if (capacity() / 4 > std::max(size, std::size_t{256})) free();
    if (size > capacity()) reallocate(size, memory);
    if (size > 0) std::memcpy(data_, data, size);
    size_ = size;
  }

  [[nodiscard]] const char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_ >> 1; }

 private:
  [[nodiscard]] bool owns_piece() const noexcept { return (capacity_ & 1) != 0; }

  void reallocate(std::size_t size, row_memory* memory) {
    char* fresh = memory ? memory->take(size) : nullptr;
    const bool owns_piece = fresh != nullptr;
    if (!fresh) fresh = static_cast<char*>(::operator new(size));
    free();
    data_ = fresh;
    capacity_ = size << 1 | (owns_piece ? 1 : 0);
  }
  void free() noexcept {
    if (owns_piece()) {
      row_memory::give_back(data_);
    } else {
      ::operator delete(data_);
    }
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  // twice that, and 1 for a piece of a row_memory
};

}  // namespace LEAT::detail
