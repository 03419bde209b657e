#include "leat/core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace leat {

thread_local const char* detail::assertion_note = nullptr;

void assertion_failed(const char* condition, const char* sentence, const char* file,
                      int line) noexcept {
  std::fprintf(stderr, "leat: %s:%d: %s (%s)\n", file, line, sentence, condition);
  if (detail::assertion_note) std::fprintf(stderr, "leat: %s\n", detail::assertion_note);
  std::abort();
}

}  // namespace leat
