#pragma once

#include <string>

#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

// Retries an operation until it succeeds, and counts the failures. Throws the failure after a
// failed sync, since no retry can succeed.
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

// Returns false if the call throws a failure.
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
