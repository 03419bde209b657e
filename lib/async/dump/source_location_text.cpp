#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "async/dump/internal/dump_printers.hpp"
#include "async/dump/internal/process_snapshot.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/text/milliseconds_text.hpp"
#include "leat/async/condition_wait.hpp"
#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/detail/select_branches.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_scope.hpp"

namespace LEAT::detail {

code_location to_code_location(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  // g++ 12 names a coroutine "void ns::f(ns::f(int)::_Z...Frame*)", clang "task<> ns::f(int)".
  std::string name = where.function_name();
  for (const std::string_view unnamed : {"{anonymous}::", "(anonymous namespace)::"}) {
    for (auto at = name.find(unnamed); at != name.npos; at = name.find(unnamed)) {
      name.erase(at, unnamed.size());
    }
  }
  std::string_view function = name;
  function = function.substr(0, function.find('('));
  int depth = 0;
  for (std::size_t i = function.size(); i > 0; --i) {
    const char c = function[i - 1];
    depth += c == '>' ? 1 : c == '<' ? -1 : 0;
    if (c == ' ' && depth <= 0) {
      function.remove_prefix(i);
      break;
    }
  }
  return {std::string(file), where.line(), std::string(function)};
}

std::string to_text(const code_location& p) {
  const std::string text = p.file + ":" + std::to_string(p.line);
  return p.function.empty() ? text : text + " in " + p.function;
}

std::string to_text(const std::source_location& where) { return to_text(to_code_location(where)); }

std::string limit_text(const limit_end& end) {
  if (end.where.line() == 0) return {};
  const std::string what = end.code == errc::deadline_exceeded
                               ? "limit of " + milliseconds_text(end.length) + " ms"
                               : "with_stop()";
  return " (" + what + " at " + to_text(end.where) + ")";
}

namespace {

constexpr std::string_view prefix_of_unnamed_tasks = "task spawned at ";

}  // namespace

std::string name_of(const task_context& task) {
  if (!task.name().empty()) return std::string(task.name());
  return std::string(prefix_of_unnamed_tasks) + to_text(task.spawned_at());
}

std::string task_text(const std::string& name) {
  return name.starts_with(prefix_of_unnamed_tasks) ? name : "task '" + name + "'";
}

std::string wait_text(std::string_view verb, std::string_view words) {
  std::string text(verb);
  if (!words.empty()) text.append(" ").append(words);
  return text;
}

namespace {

// The name of a task for a reader who does not see its owner: one without a name follows that of
// the task that awaits it.
std::string full_name_of(const task_context& task) {
  std::string name = name_of(task);
  if (!task.name().empty()) return name;
  const task_context* awaiting = &task;
  while (awaiting && awaiting->name().empty()) {
    const auto* const scope = dynamic_cast<const joint_scope*>(&awaiting->scope());
    awaiting = scope ? scope->awaiting_task() : nullptr;
  }
  return awaiting ? std::string(awaiting->name()) + " (" + name + ")" : name;
}

std::string name_of_waiter(const task_context* task) {
  return task ? full_name_of(*task) : "a coroutine";
}

}  // namespace

// A friend of the classes of work items, each of which is recognised by its function.
std::string to_text(const work_item& item) {
  if (wait_operation::is_wakeup(item)) {
    const auto& w = static_cast<const wait_operation&>(item);
    std::ostringstream words;
    w.what().describe(w, words);
    const bool settles =
        item.run_ == &select_state::settle && static_cast<const select_state&>(w).is_pending();
    return name_of_waiter(w.context_) +
           (settles ? " asks the operation that lost to end: " : " resumes after ") +
           wait_text(w.what().verb, words.str()) + ", at " + to_text(w.where());
  }
  if (task_scope::is_start(item)) {
    return full_name_of(static_cast<const task_context&>(item)) + " begins";
  }
  return "internal work of leat";
}

// A friend of the classes of timers, each of which is recognised by its function.
std::string to_text(const timer& t) {
  const wait_operation* wait = nullptr;
  if (t.expire_ == &sleep_wait::alarm::expired) {
    wait = &static_cast<const sleep_wait::alarm&>(t).owner;
  } else if (t.expire_ == &condition_wait::alarm::expired) {
    wait = &static_cast<const condition_wait::alarm&>(t).owner;
  } else if (t.expire_ == &select_branch<sleep_wait>::expired) {
    wait = &static_cast<const select_branch<sleep_wait>&>(t).select_state_;
  }
  if (!wait) return "internal timer of leat expires";
  return "timer of " + name_of_waiter(wait->context_) + " expires, at " + to_text(wait->where());
}

}  // namespace LEAT::detail
