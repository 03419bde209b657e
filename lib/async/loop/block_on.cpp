#include "leat/async/loop/block_on.hpp"

#include <exception>
#include <stop_token>

#include "leat/async/condition_wait.hpp"
#include "leat/async/internal/thread_record.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(io_context.hpp)

namespace LEAT::detail {
namespace {

// Requests a stop of a scope when its last task has finished. The stop reaches scopes that outlive
// the tasks that created them, such as the scope of a pipeline, so that the event loop ends.
struct stop_when_idle : condition_wait {
  stop_when_idle(root_scope& scope, const std::source_location& where) noexcept
      : condition_wait(scope, root_scope::idle, no_deadline, where), owner(scope) {
    run_ = [](work_item& item) noexcept {
      static_cast<stop_when_idle&>(item).owner.request_scope_stop();
    };
    scope.when_idle(*this);
  }
  root_scope& owner;
};

task<> run_until(time_point deadline, task<> t, std::source_location where) {
  co_await with_deadline(std::move(t), deadline, where);
}

}  // namespace

root_scope root_scope::of_this_thread(std::string_view kind) {
  return root_scope(kind, thread_record::current_id());
}

void run_in_own_loop(task<> t, const wait_limit& limit, const std::source_location& where) {
  if (limit.deadline() != no_deadline) t = run_until(limit.deadline(), std::move(t), where);
  asio::io_context io(1);
  root_scope scope = root_scope::of_this_thread("block_on");
  scope.spawn_on(get_scheduler(io, {.spins_before_sleep = 100}), std::move(t), "", where);
  const stop_when_idle at_end(scope, where);
  const auto stop = [&scope]() noexcept { scope.request_scope_stop(); };
  const std::stop_callback of_thread(thread_record::stop_token(), stop);
  const std::stop_callback of_limit(limit.stop(), stop);
  const thread_record::blocked here(at_end);
  std::exception_ptr handler_error;
  for (bool is_running = true; is_running;) {
    try {
      io.run();
      is_running = false;
    } catch (...) {  // the exception of a handler of the program
      if (!handler_error) handler_error = std::current_exception();
      scope.request_scope_stop();
    }
  }
  if (handler_error) std::rethrow_exception(handler_error);
  scope.rethrow_error();
}

}  // namespace LEAT::detail
