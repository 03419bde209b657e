#include "leat/core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace leat {

void assertion_failed(const char* condition, const char* sentence, const char* file,
                      int line) noexcept {
  std::fprintf(stderr, "leat: %s:%d: %s (%s)\n", file, line, sentence, condition);
  std::abort();
}

}  // namespace leat
