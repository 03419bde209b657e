#include "leat/core/dump.hpp"

#include <condition_variable>
#include <iomanip>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string_view>
#include <vector>

#include "leat/core/task.hpp"
#include "leat/core/task_scope.hpp"
#include "scope_registry.hpp"

namespace leat {
namespace detail {

std::mutex& scope_registry::mutex() noexcept {
  static std::mutex instance;
  return instance;
}

namespace {
constinit task_scope* newest_scope = nullptr;  // guarded by scope_registry::mutex()
}

task_scope* scope_registry::first() noexcept { return newest_scope; }

void scope_registry::add(task_scope& s) noexcept {
  const std::lock_guard lock(mutex());
  s.following_scope_ = newest_scope;
  if (newest_scope) newest_scope->previous_scope_ = &s;
  newest_scope = &s;
}

void scope_registry::remove(task_scope& s) noexcept {
  const std::lock_guard lock(mutex());
  (s.previous_scope_ ? s.previous_scope_->following_scope_ : newest_scope) = s.following_scope_;
  if (s.following_scope_) s.following_scope_->previous_scope_ = s.previous_scope_;
}

bool scope_registry::stop_scopes_of(const scheduler& home) {
  std::vector<task_scope*> found;
  {
    const std::lock_guard lock(mutex());
    for (task_scope* s = first(); s; s = next(*s)) {
      if (s->has_task_on(home)) found.push_back(s);
    }
  }
  // Not under the lock: a stop calls what users have hung on the token.
  bool any = false;
  for (task_scope* s : found) any = s->request_scope_stop() || any;
  return any;
}

std::string to_text(const std::source_location& where) {
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
  std::ostringstream text;
  text << file << ':' << where.line();
  if (!function.empty()) text << " in " << function;
  return text.str();
}

namespace {

void print_duration(std::ostream& out, duration d) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  out << ms / 1000 << '.' << std::setw(3) << std::setfill('0') << ms % 1000 << " s";
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && std::string_view(a.file_name()) == b.file_name();
}

// On the task's own thread.
std::string position_of(const context& task, const promise_base* innermost) {
  std::ostringstream text;
  if (const wait* w = task.waiting()) {
    text << w->what().verb << ' ';
    w->what().describe(*w, text);
    text << ", at " << to_text(w->where()) << ", for ";
    print_duration(text, task.home().now() - w->since());
  } else {
    text << "running or ready to run";
  }
  const std::source_location* told = task.waiting() ? &task.waiting()->where() : nullptr;
  for (const promise_base* p = innermost; p && p->parent(); p = p->parent()) {
    const std::source_location& where = p->where();
    // A place of the library itself; or one that a coroutine of the library was given by its
    // caller, which awaits it in the same line.
    if (where.line() == 0 || (told && same_place(where, *told))) continue;
    text << "\nawaited at " << to_text(where);
    told = &where;
  }
  return text.str();
}

std::string name_of(const context& task) {
  if (!task.name().empty()) return std::string(task.name());
  return "task spawned at " + to_text(task.spawned_at());
}

}  // namespace
}  // namespace detail

// Asks one scheduler about the scope's tasks that live there.
class task_scope::inquiry : public work_item {
 public:
  struct answers {
    std::mutex mutex;
    std::condition_variable arrived;
    std::size_t missing = 0;
    bool abandoned = false;  // the asker has left: the scope may be gone
    std::vector<task_report> reports;
  };

  inquiry(const task_scope& scope, scheduler& home, std::shared_ptr<answers> to)
      : scope_(scope), home_(home), to_(std::move(to)) {
    run_ = [](work_item& item) noexcept {
      const std::unique_ptr<inquiry> self(static_cast<inquiry*>(&item));
      self->answer_unless_abandoned();
      self->home_.work_finished();  // see homes()
    };
  }

  // Tasks of this scheduler cannot end meanwhile: they would do so on this very thread.
  void answer(std::vector<task_report>& reports) const {
    std::vector<const context*> mine;
    {
      const detail::lock_guard lock(scope_.mutex_);
      for (const context* c = scope_.children_; c; c = c->following_) {
        if (c->home_ == &home_) mine.push_back(c);
      }
    }
    for (const context* c : mine) {
      reports.push_back({c, detail::name_of(*c), detail::position_of(*c, c->innermost_)});
    }
  }

 private:
  void answer_unless_abandoned() const {
    const std::lock_guard lock(to_->mutex);
    if (to_->abandoned) return;
    answer(to_->reports);
    if (--to_->missing == 0) to_->arrived.notify_one();
  }

  const task_scope& scope_;
  scheduler& home_;
  std::shared_ptr<answers> to_;
};

std::vector<task_scope::task_report> task_scope::report(duration patience) const {
  const auto answers = std::make_shared<inquiry::answers>();
  for (scheduler* home : homes()) {
    auto question = std::make_unique<inquiry>(*this, *home, answers);
    if (home == scheduler::current()) {
      question->answer(answers->reports);
      home->work_finished();
      continue;
    }
    const std::lock_guard lock(answers->mutex);
    ++answers->missing;
    home->post(*question.release());
  }
  std::unique_lock lock(answers->mutex);
  answers->arrived.wait_for(lock, patience, [&] { return answers->missing == 0; });
  answers->abandoned = true;
  add_silent(answers->reports);
  return std::move(answers->reports);
}

// Adds the tasks whose scheduler did not answer: what is known of them without its help.
void task_scope::add_silent(std::vector<task_report>& reports) const {
  const detail::lock_guard lock(mutex_);
  for (const context* c = children_; c; c = c->following_) {
    bool answered = false;
    for (const task_report& r : reports) answered = answered || r.task == c;
    if (answered) continue;
    reports.push_back({c, detail::name_of(*c), "not known: its scheduler does not answer"});
  }
}

namespace {

void print_scope(std::ostream& out, const task_scope& scope, duration patience, int depth) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  auto reports = scope.report(patience);
  out << indent << scope.kind();
  if (!scope.name().empty()) out << " '" << scope.name() << "'";
  out << ", " << reports.size() << (reports.size() == 1 ? " task" : " tasks");
  if (scope.stop_requested()) out << ", stop requested";
  out << '\n';
  for (const auto& r : reports) {
    out << indent << "  " << r.name << ": ";
    for (const char c : r.position) {
      out << c;
      if (c == '\n') out << indent << "    ";
    }
    out << '\n';
    for (task_scope* s = detail::scope_registry::first(); s; s = detail::scope_registry::next(*s)) {
      if (detail::scope_registry::parent(*s) == r.task) print_scope(out, *s, patience, depth + 2);
    }
  }
}

}  // namespace

void dump(std::ostream& out, duration patience) {
  const std::lock_guard lock(detail::scope_registry::mutex());
  for (task_scope* s = detail::scope_registry::first(); s; s = detail::scope_registry::next(*s)) {
    if (!detail::scope_registry::parent(*s)) print_scope(out, *s, patience, 0);
  }
}

}  // namespace leat
