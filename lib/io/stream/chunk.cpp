#include "leat/io/stream/detail/chunk.hpp"

#include <new>
#include <sys/mman.h>

#include "base/internal/huge_page.hpp"
#include "files/internal/buffer_ownership.hpp"

namespace LEAT::detail {
namespace {

// The arena of a pool consists of `count` pieces, each [ headroom | body ] with a size that is a
// multiple of a page. A chunk beyond these, or of another size, has memory of its own, which is
// freed when the chunk returns.
//
// A pool has no owner after close(). It deletes itself when it is closed and no chunk is out, in
// whichever call makes both true. A batch that a program keeps may return the last chunk on any
// thread, so mutex_ protects free_, out_ and closed_.

constexpr std::size_t page = 4096;

std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

chunk_pool* chunk_pool::make(std::size_t count, std::size_t headroom, std::size_t body) {
  headroom = round_up(headroom, page);
  const std::size_t stride = headroom + round_up(body, page);
  struct destroyer {
    void operator()(chunk_pool* p) const noexcept { delete p; }
  };
  std::unique_ptr<chunk_pool, destroyer> pool(new chunk_pool(headroom, body));
  // Small readers use no huge pages: a hundred of them would need 200 MiB.
  const std::size_t total = count * stride;
  pool->alignment_ = total >= huge_page_size ? huge_page_size : page;
  const std::size_t size = round_up(total, pool->alignment_);
  pool->arena_ = static_cast<std::byte*>(::operator new(size, std::align_val_t{pool->alignment_}));
  if (pool->alignment_ == huge_page_size) ::madvise(pool->arena_, size, MADV_HUGEPAGE);
  const thread_lock lock(pool->mutex_);
  pool->free_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    pool->free_.push_back(new chunk(*pool, pool->arena_ + i * stride, headroom, body));
  }
  return pool.release();
}

chunk_pool::~chunk_pool() {
  for (chunk* c : free_) delete c;
  if (arena_) ::operator delete(arena_, std::align_val_t{alignment_});
}

std::unique_ptr<chunk> chunk_pool::make_chunk(std::size_t headroom, std::size_t body) {
  auto* memory = static_cast<std::byte*>(::operator new(headroom + body, std::align_val_t{page}));
  try {
    auto c = std::make_unique<chunk>(*this, memory, headroom, body);
    c->own_memory_ = true;
    return c;
  } catch (...) {
    ::operator delete(memory, std::align_val_t{page});
    throw;
  }
}

chunk_reference chunk_pool::take() {
  {
    const thread_lock lock(mutex_);
    if (!free_.empty()) {
      chunk* c = free_.back();
      free_.pop_back();
      ++out_;
      mark_used(c->memory_, c->headroom_ + c->body_);
      return chunk_reference(c);
    }
  }
  return take_large(headroom_, body_);
}

chunk_reference chunk_pool::take_large(std::size_t carried, std::size_t body) {
  auto c = make_chunk(round_up(carried, page), body);
  const thread_lock lock(mutex_);
  ++out_;
  return chunk_reference(c.release());
}

void chunk_pool::return_chunk(chunk& c) noexcept {
  const bool own_memory = c.own_memory_;  // after the lock, another thread may be the last one
  bool last = false;
  {
    const thread_lock lock(mutex_);
    --out_;
    // With the lock: afterwards take() may already have reused the chunk.
    mark_unused(c.memory_, c.headroom_ + c.body_);
    if (!own_memory) free_.push_back(&c);  // it has capacity, which was reserved for all of these
    last = closed_ && out_ == 0;
  }
  if (own_memory) {
    ::operator delete(c.memory_, std::align_val_t{page});
    delete &c;
  }
  // After the lock, which is a member.
  if (last) delete this;
}

void chunk_pool::close() noexcept {
  bool last = false;
  {
    const thread_lock lock(mutex_);
    closed_ = true;
    last = out_ == 0;
  }
  if (last) delete this;
}

}  // namespace LEAT::detail
