#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "async/dump/dump_printers.hpp"
#include "async/dump/process_snapshot.hpp"
#include "async/live_tasks_text.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/task_scope.hpp"

namespace leat::detail {

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

std::string name_of(const task_context& task) {
  if (!task.name().empty()) return std::string(task.name());
  return "task spawned at " + to_text(task.spawned_at());
}

std::string wait_text(std::string_view verb, std::string_view words) {
  std::string text(verb);
  if (!words.empty()) text.append(" ").append(words);
  return text;
}

// A friend of the classes of work items, each of which is recognised by its function.
std::string to_text(const work_item& item) {
  if (wait_operation::is_wakeup(item)) {
    const auto& w = static_cast<const wait_operation&>(item);
    std::ostringstream words;
    w.what().describe(w, words);
    std::ostringstream text;
    text << (w.context_ ? name_of(*w.context_) : "a coroutine") << " resumes after "
         << wait_text(w.what().verb, words.str()) << ", at " << to_text(w.where());
    return std::move(text).str();
  }
  if (item.run_ == &task_scope::start || item.run_ == &task_scope::start_from_elsewhere) {
    return name_of(static_cast<const task_context&>(item)) + " begins";
  }
  return "internal work of leat";
}

}  // namespace leat::detail
