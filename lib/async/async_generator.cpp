#include "leat/async/async_generator.hpp"

#include "leat/base/error.hpp"

namespace leat {

failure detail::next_outside_task() {
  return {errc::failed_precondition,
          "as_tuple() of the next() of an async_generator in a coroutine that is not a leat task: "
          "await next() without as_tuple()"};
}

}  // namespace leat
