#include "leat/async/dump/dump.hpp"

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <utility>

#include "async/dump/dump_collector.hpp"
#include "async/dump/internal/dump_printers.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/internal/exception_in_flight.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/async/detail/wait_on_foreign_awaitable.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {

void dump(std::ostream& out, time_span patience) { dump(out, dump_format::text, patience); }

void dump(std::ostream& out, dump_format format, time_span patience) {
  if (detail::is_stderr(out)) {
    std::ostringstream text;
    dump(text, format, patience);
    detail::write_stderr(std::move(text).str());
    return;
  }
  const detail::process_snapshot state = detail::dump_collector::collect(nullptr, patience);
  format == dump_format::text ? detail::print_text(state, out) : detail::print_json(state, out);
}

std::vector<task_scope::task_report> task_scope::report(time_span patience) const {
  std::vector<task_report> reports;
  const detail::process_snapshot state = detail::dump_collector::collect(this, patience);
  for (const detail::task_state& t : state.scopes.front().tasks) {
    reports.push_back({t.id, t.name, detail::describe_position(t)});
  }
  return reports;
}

std::string detail::describe_live_tasks(std::size_t live_tasks,
                                        const std::vector<const scheduler*>& driven) {
  std::ostringstream out;
  out << live_tasks << (live_tasks == 1 ? " task has" : " tasks have") << " not ended\n";
  print_text(dump_collector::collect(nullptr, duration::zero(), driven), out);
  return std::move(out).str();
}

std::string detail::describe_live_tasks(const task_scope& scope, duration patience) {
  return members_text(dump_collector::collect(&scope, patience));
}

std::string detail::wait_of_first_task(const task_scope& scope) {
  const task_state task = dump_collector::query_first_task(scope);
  if (!task.waiting) return {};
  const std::string text = describe_position(task);
  return text.substr(0, text.find('\n'));
}

void detail::print_late_task(const task_scope& scope, const std::source_location& where,
                             std::chrono::seconds patience) noexcept {
  try {
    const std::string place = to_text(to_code_location(where));
    const std::string task = describe_live_tasks(scope, duration::zero());
    detail::print_stderr(
        "leat: select() or limit at %s waits for its task, which was asked to stop %d s "
        "ago:\n%s",
        place.c_str(), static_cast<int>(patience.count()), task.c_str());
  } catch (...) {  // no memory
    detail::write_stderr("leat: select() or limit waits for a task that does not stop\n");
  }
}

void detail::foreign_awaitable_destroyed(const wait_operation& w, const task_context& c) noexcept {
  try {
    const std::string task = name_of(c);
    detail::print_stderr(
        "leat: %s was destroyed with its scheduler while it awaited an operation of another "
        "library, which leat cannot cancel, at %s: end the operation and join the task "
        "before you destroy the io_context or embedded_scheduler\n",
        task.c_str(), to_text(to_code_location(w.where())).c_str());
  } catch (...) {
    detail::write_stderr("leat: task destroyed while it awaited an operation of another library\n");
  }
  std::abort();
}

void detail::scope_destroyed(const task_scope& scope) noexcept {
  detail::print_stderr(
      "leat: %.*s '%.*s' destroyed while its tasks or threads are running: join it on every "
      "path, or use with_task_group() or with_coordinator()\n",
      static_cast<int>(scope.kind().size()), scope.kind().data(),
      static_cast<int>(scope.name().size()), scope.name().data());
  print_exception_in_flight();
  const scheduler* const here = scheduler::current();
  const task_context* const dying = here ? here->dying_task() : nullptr;
  try {
    if (dying) {
      const std::string task = name_of(*dying);
      detail::print_stderr(
          "  it belongs to %s, which was destroyed with its io_context or "
          "embedded_scheduler: join its tasks on other schedulers first\n",
          task.c_str());
    }
    detail::write_stderr(describe_live_tasks(scope));
  } catch (...) {
    detail::write_stderr("  out of memory: tasks and threads not listed\n");
  }
  if (assertion_note) detail::print_stderr("leat: %s\n", assertion_note);
  std::abort();
}

}  // namespace LEAT
