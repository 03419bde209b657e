#pragma once

#include <string>

#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

// Tries an operation until it succeeds, and counts the failures. Throws where that is in vain:
// after a sync that failed.
template <class Operation>
leat::task<> retry_until_success(Operation operation, int& failures) {
  for (bool done = false; !done;) {
    try {
      co_await operation();
      done = true;
    } catch (const leat::failure& e) {
      ++failures;
      if (std::string(e.what()).find("sync after an earlier sync failed") != std::string::npos)
        throw;
    }
  }
}

// False where it ends with a failure.
template <class Function>
bool succeeds(Function f) {
  try {
    f();
  } catch (const leat::failure&) {
    return false;
  }
  return true;
}

}  // namespace leat_test
