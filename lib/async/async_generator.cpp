#include "leat/async/async_generator.hpp"

#include <coroutine>
#include <ostream>
#include <source_location>

#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

namespace {

constexpr wait_operation::kind turn_kind{"yield", [](wait_operation&) noexcept {},
                                         [](const wait_operation&, std::ostream&) {}};

}  // namespace

detail::generator_turn::generator_turn() noexcept
    : wait_operation(turn_kind, std::source_location()) {}

void detail::generator_turn::begin(task_context& c, std::coroutine_handle<> reader,
                                   const std::source_location& where) noexcept {
  set_where(where);
  wait_operation::begin_wait(&c, reader);
  wake();
}

failure detail::next_outside_task() {
  return {errc::failed_precondition,
          "as_tuple() of the next() of an async_generator in a coroutine that is not a leat task: "
          "await next() without as_tuple()"};
}

}  // namespace LEAT
