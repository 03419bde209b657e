#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace leat::detail {

/// Memory for many rows at once, in huge pages: a fault for each instead of for 512 small ones.
///
/// Who has a piece gives it back by itself, also behind the end of the one that it is from. The
/// slab that it stands in is freed when all of its pieces are back: until then a piece that is back
/// is lost. Thread safety: none, for all pieces of one together.
class row_memory {
 public:
  row_memory() noexcept = default;
  row_memory(const row_memory&) = delete;
  row_memory& operator=(const row_memory&) = delete;
  ~row_memory() {
    if (slab_) leave(*slab_);
  }

  /// Null: a row that is to have memory of its own, being large, or one of the first 2 MiB: who
  /// holds less than that needs no huge page. Errors: std::bad_alloc.
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
    std::size_t pieces = 1;  // that are out, and one for the memory that they are from
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
  std::size_t left_ = 0;  // of it
  std::size_t size_ =
      heap_bytes_before_slabs;  // of it; each is twice as large as the one before, up to 32 MiB
  std::size_t heap_bytes_ = 0;  // bytes, of the first rows
};

/// The bytes of a row that comes in the place of others: memory that is large enough is used again.
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

  /// What one large row needed is not kept for small ones. New memory is from `memory` where that
  /// has some. Errors: std::bad_alloc; then the row is as it was, or empty.
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

}  // namespace leat::detail
