#include "sim/world/fiber.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/sanitizers.hpp"

#if LEAT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if LEAT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace LEAT::sim {
namespace {

// As large as the stack of an OS thread; only pages in use take memory.
constexpr std::size_t stack_size = std::size_t{8} << 20;

// Memory for a stack with an inaccessible page below it.
class stack {
 public:
  stack() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    begin_ = ::mmap(nullptr, page_ + stack_size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
    ::mprotect(begin_, page_, PROT_NONE);
  }
  stack(const stack&) = delete;
  stack& operator=(const stack&) = delete;
  ~stack() {
#if LEAT_ASAN
    __asan_unpoison_memory_region(bottom(), stack_size);
#endif
    ::munmap(begin_, page_ + stack_size);
  }

  [[nodiscard]] void* bottom() const noexcept { return static_cast<char*>(begin_) + page_; }

 private:
  const std::size_t page_;
  void* begin_;
};

// The exceptions that are being handled, and how many are being thrown, which the C++ ABI keeps for
// each OS thread: a pointer and an unsigned int.
using exceptions = std::array<std::byte, 2 * sizeof(void*)>;

void exchange_exceptions(exceptions& kept) noexcept {
  exceptions now;
  std::memcpy(&now, abi::__cxa_get_globals(), sizeof now);
  std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), &kept, sizeof kept);
  kept = now;
}

}  // namespace

struct fiber::state {
  stack memory;
  ucontext_t inside{};
  ucontext_t outside{};
  exceptions handled{};  // of the side that is not running
#if LEAT_ASAN
  void* fake_stack = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;
#endif
#if LEAT_TSAN
  void* inside_fiber = __tsan_create_fiber(0);
  void* outside_fiber = nullptr;
  ~state() { __tsan_destroy_fiber(inside_fiber); }
#endif

  // Completes the switch on arrival.
  void arrived_inside() noexcept {
#if LEAT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, &outside_bottom, &outside_size);
#endif
  }

  void leave() noexcept {
    exchange_exceptions(handled);
#if LEAT_ASAN
    __sanitizer_start_switch_fiber(&fake_stack, outside_bottom, outside_size);
#endif
#if LEAT_TSAN
    __tsan_switch_to_fiber(outside_fiber, 0);
#endif
    ::swapcontext(&inside, &outside);
    arrived_inside();
  }
};

fiber::fiber() : state_(std::make_unique<state>()) {
  ::getcontext(&state_->inside);
  state_->inside.uc_stack.ss_sp = state_->memory.bottom();
  state_->inside.uc_stack.ss_size = stack_size;
  state_->inside.uc_link = nullptr;
  // makecontext() accepts ints: the pointer is passed in two halves.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&state_->inside, reinterpret_cast<void (*)()>(&fiber::enter), 2,
                static_cast<unsigned>(self), static_cast<unsigned>(std::uint64_t{self} >> 32U));
}

fiber::~fiber() { LEAT_ASSERT(!busy(), "fiber destroyed while its function runs"); }

// Runs one function after another on the fiber, and never returns: between two functions it is
// within leave(). Its stack then holds no object with a destructor, so it can be unmapped.
void fiber::enter(unsigned low, unsigned high) {
  auto* const self = reinterpret_cast<fiber*>(
      static_cast<std::uintptr_t>((std::uint64_t{high} << 32U) | std::uint64_t{low}));
  self->state_->arrived_inside();
  for (;;) {
    self->function_(self->argument_);
    self->function_ = nullptr;
    self->state_->leave();
  }
}

void fiber::start(void (*function)(void*), void* argument) noexcept {
  LEAT_ASSERT(!busy(), "fiber started while its function runs");
  function_ = function;
  argument_ = argument;
  switch_in();
}

void fiber::resume() noexcept {
  LEAT_ASSERT(busy(), "fiber resumed without a running function");
  switch_in();
}

void fiber::switch_in() noexcept {
  state& s = *state_;
  exchange_exceptions(s.handled);
#if LEAT_ASAN
  void* own_fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&own_fake_stack, s.memory.bottom(), stack_size);
#endif
#if LEAT_TSAN
  s.outside_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(s.inside_fiber, 0);
#endif
  ::swapcontext(&s.outside, &s.inside);
#if LEAT_ASAN
  __sanitizer_finish_switch_fiber(own_fake_stack, nullptr, nullptr);
#endif
}

void fiber::suspend() noexcept { state_->leave(); }

}  // namespace LEAT::sim
