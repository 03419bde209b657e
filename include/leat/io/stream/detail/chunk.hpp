#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "leat/base/internal/thread_mutex.hpp"
#include "leat/files/file_backend.hpp"
#include "leat/io/file/detail/read_wait.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

class chunk_pool;

/// A piece of a file in memory, with a count of its users: the reader, batches of views, and the
/// read that fills it.
///
/// Memory: [ headroom | body ]. A read fills the body. The incomplete record at the end of the
///         previous chunk is copied to the end of the headroom, so that records are always
///         contiguous.
class chunk : public file_request, public awaited_read {
 public:
  chunk(chunk_pool& pool, std::byte* memory, std::size_t headroom, std::size_t body) noexcept
      : pool_(pool), memory_(memory), headroom_(headroom), body_(body) {}

  [[nodiscard]] std::byte* body() const noexcept { return memory_ + headroom_; }
  [[nodiscard]] std::size_t body_size() const noexcept { return body_; }
  [[nodiscard]] std::size_t headroom() const noexcept { return headroom_; }

  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept {
    // acq_rel: the next user of the memory must come after the last access of all others.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle();
  }

  /// Returns the bytes from `at` to the end of the body.
  [[nodiscard]] std::size_t capacity_from(const std::byte* at) const noexcept {
    return static_cast<std::size_t>(body() + body_size() - at);
  }

  // Keeps the file open while the read is in flight.
  std::shared_ptr<file_handle> file_;

 private:
  friend class chunk_pool;
  void recycle() noexcept;

  chunk_pool& pool_;
  std::byte* const memory_;
  const std::size_t headroom_;
  const std::size_t body_;
  std::atomic<unsigned> references_{0};
  bool own_memory_ = false;
};

/// Keeps a chunk alive. A value type; thread-safe across threads like std::shared_ptr.
class chunk_reference {
 public:
  chunk_reference() = default;
  explicit chunk_reference(chunk* c) noexcept : chunk_(c) {
    if (c) c->add_reference();
  }
  chunk_reference(const chunk_reference& other) noexcept : chunk_reference(other.chunk_) {}
  chunk_reference(chunk_reference&& other) noexcept
      : chunk_(std::exchange(other.chunk_, nullptr)) {}
  chunk_reference& operator=(chunk_reference other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~chunk_reference() {
    if (chunk_) chunk_->drop_reference();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return chunk_ != nullptr; }
  chunk* operator->() const noexcept { return chunk_; }
  chunk& operator*() const noexcept { return *chunk_; }

 private:
  chunk* chunk_ = nullptr;
};

/// The chunks of one reader: a huge-page arena that is divided into pieces. A piece returns when
/// its last user is gone. The pool grows by one piece if a consumer keeps more of them.
///
/// Lives until the reader is destroyed and the last chunk has returned.
/// Thread safety: take() is thread-bound to the reader; chunks return from any thread.
class chunk_pool {
 public:
  /// Errors: std::bad_alloc.
  static chunk_pool* make(std::size_t count, std::size_t headroom, std::size_t body);

  /// Returns the headroom of a chunk of the usual size.
  [[nodiscard]] std::size_t headroom() const noexcept { return headroom_; }

  /// Returns a chunk of the usual size. Errors: std::bad_alloc.
  [[nodiscard]] chunk_reference take();

  /// Returns a chunk with at least `carried` bytes of headroom and a body of at least `body` bytes.
  [[nodiscard]] chunk_reference take_large(std::size_t carried, std::size_t body);

  /// Called when the reader releases the pool.
  void close() noexcept;

 private:
  friend class chunk;

  chunk_pool(std::size_t headroom, std::size_t body) noexcept : headroom_(headroom), body_(body) {}
  ~chunk_pool();
  void return_chunk(chunk& c) noexcept;
  std::unique_ptr<chunk> make_chunk(std::size_t headroom, std::size_t body);

  thread_mutex mutex_;
  const std::size_t headroom_;
  const std::size_t body_;
  std::byte* arena_ = nullptr;
  std::size_t alignment_ = 0;  // of the arena
  std::vector<chunk*> free_ LEAT_GUARDED_BY(mutex_);
  std::size_t out_ LEAT_GUARDED_BY(mutex_) = 0;
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;
};

inline void chunk::recycle() noexcept { pool_.return_chunk(*this); }

}  // namespace LEAT::detail
