#include "leat/io/detail/window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace leat::detail {

chunk_reference window::room_for(chunk_pool& pool, std::size_t carried, std::size_t size) {
  chunk_reference c = pool.take();
  if (carried <= c->headroom()) return c;
  // A record longer than the headroom: room for it, and for as much again, so that the copying of a
  // very long record stays linear.
  return pool.take_large(carried, std::max(size, carried));
}

void window::slide(chunk_pool& pool, chunk_reference c, std::size_t carried, std::size_t fresh) {
  const std::byte* const kept = data_ + (size_ - carried);
  if (carried <= c->headroom()) {
    std::byte* const start = c->body() - carried;
    if (carried > 0) std::memcpy(start, kept, carried);
    current_ = std::move(c);
    data_ = start;
  } else if (current_->has_room(kept + carried, fresh)) {
    // A record longer than a chunk: piece after piece goes behind what is there ...
    std::memcpy(current_->body() + (kept - current_->body()) + carried, c->body(), fresh);
    data_ = kept;
  } else {
    // ... and into twice the room when that is full, so that the copying stays linear.
    chunk_reference larger = pool.take_large(0, 2 * (carried + fresh));
    std::memcpy(larger->body(), kept, carried);
    std::memcpy(larger->body() + carried, c->body(), fresh);
    current_ = std::move(larger);
    data_ = current_->body();
  }
  size_ = carried + fresh;
  end_ += fresh;
}

void window::shrink(std::size_t carried) noexcept {
  data_ += size_ - carried;
  size_ = carried;
}

void window::restart(std::uint64_t offset) noexcept {
  current_ = {};
  data_ = nullptr;
  size_ = 0;
  end_ = offset;
}

}  // namespace leat::detail
