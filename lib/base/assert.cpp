#include "leat/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/exception_in_flight.hpp"

namespace leat {

thread_local const char* detail::assertion_note = nullptr;

void assertion_failed(const char* condition, const char* sentence, const char* file,
                      int line) noexcept {
  std::fprintf(stderr, "leat: %s:%d: %s (%s)\n", file, line, sentence, condition);
  detail::print_exception_in_flight();
  if (detail::assertion_note) std::fprintf(stderr, "leat: %s\n", detail::assertion_note);
  std::abort();
}

}  // namespace leat
