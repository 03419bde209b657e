// expect: a function of the options is called and not awaited
#include <cstddef>
#include <exception>

#include "leat/async/retry.hpp"

void prepare(leat::retry_policy& policy) {
  policy.on_retry = [](std::size_t, std::exception_ptr, leat::duration) -> leat::task<> {
    co_return;
  };
}
