// expect: callback in the options returns a coroutine, which would never run
#include <cstddef>
#include <exception>

#include "leat/async/retry.hpp"

void prepare(leat::retry_policy& policy) {
  policy.on_retry = [](std::size_t, std::exception_ptr, leat::duration) -> leat::task<> {
    co_return;
  };
}
