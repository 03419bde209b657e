#include "leat/base/internal/assert.hpp"

#include <cstdlib>

#include "base/internal/exception_in_flight.hpp"
#include "base/internal/standard_error.hpp"

namespace LEAT::detail {

thread_local const char* assertion_note = nullptr;

void assertion_failed(const char* condition, const char* sentence, const char* file,
                      int line) noexcept {
  print_stderr("leat: %s:%d: %s (%s)\n", file, line, sentence, condition);
  print_exception_in_flight();
  if (assertion_note) print_stderr("leat: %s\n", assertion_note);
  std::abort();
}

}  // namespace LEAT::detail
