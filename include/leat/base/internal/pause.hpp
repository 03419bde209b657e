#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Tells the processor that this thread spins. One call takes 10 to 75 ns.
inline void pause(int times = 1) noexcept {
  for (int i = 0; i < times; ++i) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

}  // namespace LEAT::detail
