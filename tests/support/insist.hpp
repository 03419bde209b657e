#pragma once

#include "leat/core/error.hpp"
#include "leat/core/task.hpp"

namespace leat_test {

// Tries an operation until it succeeds, and counts the failures.
template <class Operation>
leat::task<> insist(Operation operation, int& failures) {
  for (bool done = false; !done;) {
    try {
      co_await operation();
      done = true;
    } catch (const leat::failure&) {
      ++failures;
    }
  }
}

}  // namespace leat_test
