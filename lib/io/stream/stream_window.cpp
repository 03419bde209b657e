#include "leat/io/stream/detail/stream_window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace LEAT::detail {

// The view, data_ and size_, lies in one chunk, current_, begins in its headroom or its body, and
// ends at offset end_ of the stream. Its last `carried` bytes, usually an incomplete record, stay
// in view when more bytes arrive, and both must be contiguous. Batches may refer to the bytes in
// view, so slide() never overwrites these; the bytes of the chunk after the view are free.

void stream_window::copy(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  if (count > 0) std::memcpy(to, from, count);
  copied_ += count;
}

stream_window::free_space stream_window::reserve(chunk_pool& pool, const request& d,
                                                 std::size_t size) const {
  // Copies at most as much as the last read returned, so that copying stays linear.
  if (current_ && d.carried > std::min(fresh_, pool.headroom())) {
    std::byte* const at = current_->body() + (data_ + size_ - current_->body());
    if (const std::size_t left = current_->capacity_from(at); left > 0) return {current_, at, left};
  }
  return reserve_chunk(pool, d, size);
}

stream_window::free_space stream_window::reserve_chunk(chunk_pool& pool, const request& d,
                                                       std::size_t size) {
  chunk_reference c;
  if (d.carried <= pool.headroom()) {
    c = pool.take();
  } else {
    // A record longer than the headroom: memory for the record and as much again, so that copying a
    // very long record stays linear. No memory beyond the record itself is needed.
    std::uint64_t more = d.carried;
    if (d.needed > d.carried) {
      more = d.certain ? d.needed - d.carried : std::min(more, d.needed - d.carried);
    }
    c = pool.take_large(d.carried, static_cast<std::size_t>(std::max<std::uint64_t>(size, more)));
  }
  std::byte* const at = c->body();
  const std::size_t room_size = c->body_size();
  return {std::move(c), at, room_size};
}

void stream_window::slide(chunk_pool& pool, free_space r, const request& d, std::size_t fresh) {
  const std::size_t carried = d.carried;
  // Only take_large() can fail, before anything has changed.
  const std::byte* const kept = data_ + (size_ - carried);
  // Compares the chunks, not their addresses: another chunk may begin where this one ends.
  if (current_ && &*r.in == &*current_) {
    // The read went to the free bytes of the current chunk, so nothing is copied.
    data_ = kept;
  } else if (carried <= r.in->headroom()) {
    // The carried bytes go to the headroom of the new chunk.
    std::byte* const start = r.at - carried;
    copy(start, kept, carried);
    current_ = std::move(r.in);
    data_ = start;
  } else if (current_->capacity_from(kept + carried) >= fresh) {
    // A record longer than a chunk: each chunk is appended to the bytes so far ...
    copy(current_->body() + (kept - current_->body()) + carried, r.at, fresh);
    data_ = kept;
  } else {
    // ... which move to twice the memory when it is full, so that copying stays linear.
    const std::size_t all = carried + fresh;
    const bool known = d.certain && d.needed > 0;
    const auto size = known ? std::max<std::uint64_t>(all, d.needed) : 2 * all;
    chunk_reference larger = pool.take_large(0, static_cast<std::size_t>(size));
    copy(larger->body(), kept, carried);
    copy(larger->body() + carried, r.at, fresh);
    current_ = std::move(larger);
    data_ = current_->body();
  }
  size_ = carried + fresh;
  end_ += fresh;
  fresh_ = fresh;
}

void stream_window::shrink(std::size_t carried) noexcept {
  data_ += size_ - carried;
  size_ = carried;
}

void stream_window::restart(std::uint64_t offset) noexcept {
  current_ = {};
  data_ = nullptr;
  size_ = 0;
  end_ = offset;
  fresh_ = 0;
}

}  // namespace LEAT::detail
