#include "base/frame_slabs.hpp"

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

#include "base/huge_page.hpp"

namespace leat::detail::frame_slabs {

namespace {

using block = frame_cache::free_block;

// Blocks stand where malloc() would have them, a multiple of 16 bytes from each other.
constexpr std::size_t stride_of(std::size_t index) { return frame_cache::size_of(index) + 8; }

// At the beginning of its memory, whose address is a multiple of its size.
struct slab {
  explicit slab(std::size_t index) noexcept { serve(index); }

  // Only where no block is out.
  void serve(std::size_t index) noexcept {
    index_ = index;
    free_ = nullptr;
    next_ = reinterpret_cast<char*>(this) + first;
  }

  [[nodiscard]] bool full() const noexcept {
    return !free_ && reinterpret_cast<const char*>(this) + huge_page - next_ <
                         static_cast<std::ptrdiff_t>(stride_of(index_));
  }

  [[nodiscard]] block* take() noexcept {
    ++out;
    if (free_) return std::exchange(free_, free_->next);
    return ::new (static_cast<void*>(std::exchange(next_, next_ + stride_of(index_)))) block{};
  }

  void give_back(block& b) noexcept {
    b.next = std::exchange(free_, &b);
    --out;
  }

  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  std::size_t out = 0;
  slab* before = nullptr;  // among those of its class that are not full
  slab* behind = nullptr;

 private:
  static constexpr std::size_t first = 64;

  std::size_t index_ = 0;
  block* free_ = nullptr;
  char* next_ = nullptr;  // behind it no block was ever out
};

slab* slab_of(block* b) noexcept {
  return reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(b) & ~(huge_page - 1));
}

// Twice as much as is needed has it at the right address.
slab* make_slab(std::size_t index) {
  void* const whole =
      ::mmap(nullptr, 2 * huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) throw std::bad_alloc();
  void* memory = whole;
  std::size_t room = 2 * huge_page;
  std::align(huge_page, huge_page, memory, room);
  const std::size_t in_front = 2 * huge_page - room;
  if (in_front > 0) ::munmap(whole, in_front);
  if (room > huge_page) ::munmap(static_cast<char*>(memory) + huge_page, room - huge_page);
  ::madvise(memory, huge_page, MADV_HUGEPAGE);
  return ::new (memory) slab(index);
}

void free_slab(slab* s) noexcept { ::munmap(static_cast<void*>(s), huge_page); }

// The system is asked for memory, and given it back, without the lock.
class store {
 public:
  block* take(std::size_t index, std::size_t& most) {
    std::unique_lock lock(mutex_);
    if (!with_room_[index] && empty_) move_empty(index);
    if (!with_room_[index] && kept_ > 0) link_new(*::new (keep_[--kept_]) slab(index));
    if (!with_room_[index]) {
      lock.unlock();
      std::unique_ptr<slab, void (*)(slab*)> made(make_slab(index), free_slab);
      lock.lock();
      slabs_.insert(made.get());
      link_new(*made.release());
    }
    slab& s = *with_room_[index];
    if (&s == empty_) empty_ = nullptr;
    // In the order of their addresses where nothing was ever given back: as the processor expects.
    block* run = nullptr;
    block** end = &run;
    std::size_t taken = 0;
    for (; taken < most && !s.full(); ++taken) {
      block* const b = s.take();
      *end = b;
      end = &b->next;
    }
    *end = nullptr;
    if (s.full()) unlink(s);
    most = taken;
    return run;
  }

  // What is left are those of operator new.
  block* give_back(block* run) noexcept {
    std::unique_lock lock(mutex_);
    slab* gone = nullptr;
    block* others = nullptr;
    slab* last = nullptr;
    while (run) {
      block* const b = std::exchange(run, run->next);
      slab* const s = slab_of(b);
      if (s != last && !slabs_.contains(s)) {
        b->next = std::exchange(others, b);
        continue;
      }
      last = s;
      put_back(*s, *b);
      if (s->out > 0) continue;
      if (!empty_) {
        empty_ = s;
        continue;
      }
      unlink(*s);
      --in_use_;
      s->behind = std::exchange(gone, s);
    }
    lock.unlock();
    while (gone) keep(std::exchange(gone, gone->behind));
    return others;
  }

  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return in_use_;
  }

  void before_fork() noexcept { mutex_.lock(); }
  void after_fork() noexcept { mutex_.unlock(); }

 private:
  void put_back(slab& s, block& b) noexcept {
    const bool was_full = s.full();
    s.give_back(b);
    if (was_full) link(s);
  }

  // The system may take its pages, and does when it needs them; else they are there the next time.
  void keep(slab* s) noexcept {
    ::madvise(static_cast<void*>(s), huge_page, MADV_FREE);
    {
      const std::lock_guard lock(mutex_);
      if (kept_ < keep_.size()) {
        keep_[kept_++] = s;
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

  void move_empty(std::size_t index) noexcept {
    slab& s = *std::exchange(empty_, nullptr);
    unlink(s);
    s.serve(index);
    link(s);
  }

  void link(slab& s) noexcept {
    slab*& first = with_room_[s.index()];
    s.before = nullptr;
    s.behind = first;
    if (first) first->before = &s;
    first = &s;
  }

  void unlink(slab& s) noexcept {
    (s.before ? s.before->behind : with_room_[s.index()]) = s.behind;
    if (s.behind) s.behind->before = s.before;
  }

  std::mutex mutex_;
  std::unordered_set<slab*> slabs_;  // all that there are
  std::array<slab*, frame_cache::classes> with_room_{};
  slab* empty_ = nullptr;  // at most one of these; for the next one who needs a slab
  std::size_t in_use_ = 0;
  // Those of which nothing can be said but where they are, 256 MiB at most.
  std::array<void*, 128> keep_{};
  std::size_t kept_ = 0;
};

// Never destroyed: frames are freed by destructors of whatever lives longest.
store& the_store() {
  alignas(store) static std::byte memory[sizeof(store)];
  static store& made = *::new (static_cast<void*>(memory)) store;
  // A child has none of the threads that might have had the lock, and ends with a last run.
  [[maybe_unused]] static const int registered =
      ::pthread_atfork([] { the_store().before_fork(); }, [] { the_store().after_fork(); },
                       [] { the_store().after_fork(); });
  return made;
}

}  // namespace

block* take(std::size_t index, std::size_t& most) { return the_store().take(index, most); }

std::size_t give_back(block* run) noexcept {
  block* others = the_store().give_back(run);
  std::size_t count = 0;
  for (; others; ++count) ::operator delete(std::exchange(others, others->next));
  return count;
}

std::size_t count() { return the_store().count(); }

}  // namespace leat::detail::frame_slabs
