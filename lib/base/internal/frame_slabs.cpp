#include "base/internal/frame_slabs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unordered_set>
#include <utility>

#include "base/internal/huge_page.hpp"

namespace LEAT::detail::frame_slabs {

namespace {

using block = frame_cache::free_block;

// Blocks have the distances that malloc() would use, a multiple of 16 bytes.
constexpr std::size_t stride_of(std::size_t index) { return frame_cache::size_of(index) + 8; }

// A slab is 2 MiB of blocks of one class after a header of 64 bytes. It is in one of these states:
//
// - not full: in the list non_full_ of its class. This includes empty_, the one slab that stays in
//   its list although no block is in use.
// - full: in no list. The first block that returns adds it to its list again.
// - retained: no block is in use, and the system may take its pages and so clear its header, which
//   take_batch() constructs again.
//
// slabs_ has all of them. Since a block from operator new may lie at any address, only slabs_ shows
// whether there is the header of a slab where slab_of() expects it.

// At the beginning of its memory, whose address is a multiple of its size.
struct slab {
  explicit slab(std::size_t index) noexcept { assign_class(index); }

  // Valid only if no block is in use.
  void assign_class(std::size_t index) noexcept {
    index_ = index;
    free_ = nullptr;
    next_ = reinterpret_cast<char*>(this) + first;
  }

  [[nodiscard]] bool is_full() const noexcept {
    return !free_ && reinterpret_cast<const char*>(this) + huge_page_size - next_ <
                         static_cast<std::ptrdiff_t>(stride_of(index_));
  }

  [[nodiscard]] block* take_block() noexcept {
    ++out;
    if (free_) return std::exchange(free_, free_->next);
    return ::new (static_cast<void*>(std::exchange(next_, next_ + stride_of(index_)))) block{};
  }

  void return_block(block& b) noexcept {
    b.next = std::exchange(free_, &b);
    --out;
  }

  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  std::size_t out = 0;
  slab* previous = nullptr;  // among those of its class that are not full
  slab* following = nullptr;

 private:
  static constexpr std::size_t first = 64;

  std::size_t index_ = 0;
  block* free_ = nullptr;
  char* next_ = nullptr;  // no block after it was ever in use
};

slab* slab_of(block* b) noexcept {
  return reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(b) & ~(huge_page_size - 1));
}

// A mapping of twice the size contains a block at an aligned address.
slab* make_slab(std::size_t index) {
  void* const whole = ::mmap(nullptr, 2 * huge_page_size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) throw std::bad_alloc();
  void* memory = whole;
  std::size_t space = 2 * huge_page_size;
  std::align(huge_page_size, huge_page_size, memory, space);
  const std::size_t in_front = 2 * huge_page_size - space;
  if (in_front > 0) ::munmap(whole, in_front);
  if (space > huge_page_size)
    ::munmap(static_cast<char*>(memory) + huge_page_size, space - huge_page_size);
  ::madvise(memory, huge_page_size, MADV_HUGEPAGE);
  return ::new (memory) slab(index);
}

void free_slab(slab* s) noexcept { ::munmap(static_cast<void*>(s), huge_page_size); }

// Memory is requested from the system, and returned to it, without the lock.
class slab_store {
 public:
  block* take_batch(std::size_t index, std::size_t& most) {
    std::unique_lock lock(mutex_);
    if (!non_full_[index] && empty_) reuse_empty(index);
    if (!non_full_[index] && retained_count_ > 0)
      link_new(*::new (retained_[--retained_count_]) slab(index));
    if (!non_full_[index]) {
      lock.unlock();
      std::unique_ptr<slab, void (*)(slab*)> made(make_slab(index), free_slab);
      lock.lock();
      // May throw; `made` then frees the slab.
      slabs_.insert(made.get());
      link_new(*made.release());
    }
    slab& s = *non_full_[index];
    if (&s == empty_) empty_ = nullptr;
    // In the order of their addresses if no block was returned yet, which suits the processor's
    // prefetcher.
    block* batch = nullptr;
    block** end = &batch;
    std::size_t taken = 0;
    for (; taken < most && !s.is_full(); ++taken) {
      block* const b = s.take_block();
      *end = b;
      end = &b->next;
    }
    *end = nullptr;
    if (s.is_full()) unlink(s);
    most = taken;
    return batch;
  }

  // The remaining blocks came from operator new.
  block* return_batch(block* batch) noexcept {
    std::unique_lock lock(mutex_);
    slab* emptied = nullptr;
    block* others = nullptr;
    slab* last = nullptr;
    while (batch) {
      block* const b = std::exchange(batch, batch->next);
      slab* const s = slab_of(b);
      if (s != last && !slabs_.contains(s)) {
        b->next = std::exchange(others, b);
        continue;
      }
      last = s;
      return_to_slab(*s, *b);
      if (s->out > 0) continue;
      if (!empty_) {
        empty_ = s;
        continue;
      }
      unlink(*s);
      --in_use_;
      s->following = std::exchange(emptied, s);
    }
    lock.unlock();
    // In no list and without a block in use, so no other thread refers to them.
    while (emptied) retain(std::exchange(emptied, emptied->following));
    return others;
  }

  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return in_use_;
  }

  void before_fork() noexcept { mutex_.lock(); }
  void after_fork() noexcept { mutex_.unlock(); }

 private:
  void return_to_slab(slab& s, block& b) noexcept {
    const bool was_full = s.is_full();
    s.return_block(b);
    if (was_full) link(s);
  }

  // The system may take its pages when it needs memory; otherwise they are reused.
  void retain(slab* s) noexcept {
    ::madvise(static_cast<void*>(s), huge_page_size, MADV_FREE);
    {
      const std::lock_guard lock(mutex_);
      if (retained_count_ < retained_.size()) {
        retained_[retained_count_++] = s;
        return;
      }
      slabs_.erase(s);
    }
    free_slab(s);
  }

  void link_new(slab& s) noexcept {
    ++in_use_;
    link(s);
  }

  void reuse_empty(std::size_t index) noexcept {
    slab& s = *std::exchange(empty_, nullptr);
    unlink(s);
    s.assign_class(index);
    link(s);
  }

  void link(slab& s) noexcept {
    slab*& first = non_full_[s.index()];
    s.previous = nullptr;
    s.following = first;
    if (first) first->previous = &s;
    first = &s;
  }

  void unlink(slab& s) noexcept {
    (s.previous ? s.previous->following : non_full_[s.index()]) = s.following;
    if (s.following) s.following->previous = s.previous;
  }

  std::mutex mutex_;
  std::unordered_set<slab*> slabs_;  // all slabs
  std::array<slab*, frame_cache::classes> non_full_{};
  slab* empty_ = nullptr;  // at most one, for the next thread that needs a slab
  std::size_t in_use_ = 0;
  // Slabs whose pages the system may have taken, 256 MiB at most.
  std::array<void*, 128> retained_{};
  std::size_t retained_count_ = 0;
};

// Never destroyed: even the last destructors of the program may free frames.
slab_store& get_store() {
  alignas(slab_store) static std::byte memory[sizeof(slab_store)];
  static slab_store& made = *::new (static_cast<void*>(memory)) slab_store;
  // The lock is held during fork(): in the child, a thread that held it would not exist any more,
  // and the child still returns a last batch when it exits.
  [[maybe_unused]] static const int registered =
      ::pthread_atfork([] { get_store().before_fork(); }, [] { get_store().after_fork(); },
                       [] { get_store().after_fork(); });
  return made;
}

// The store is created before the program has a second thread. If one created it while another
// called fork(), the child would wait for the end of the creation.
[[maybe_unused]] const slab_store& made_at_start = get_store();

}  // namespace

block* take_batch(std::size_t index, std::size_t& most) {
  return get_store().take_batch(index, most);
}

std::size_t return_batch(block* batch) noexcept {
  block* others = get_store().return_batch(batch);
  std::size_t count = 0;
  for (; others; ++count) ::operator delete(std::exchange(others, others->next));
  return count;
}

std::size_t count() { return get_store().count(); }

}  // namespace LEAT::detail::frame_slabs
