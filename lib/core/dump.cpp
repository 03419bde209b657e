#include "leat/core/dump.hpp"

#include <algorithm>
#include <condition_variable>
#include <iomanip>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>
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

struct task_scope::answers {
  // One task, and the scope to which it belongs; the scope may be gone.
  struct finding {
    const task_scope* scope;
    task_report report;
  };

  std::mutex mutex;
  std::condition_variable arrived;
  std::size_t missing = 0;
  bool abandoned = false;  // the asker has left: the scope may be gone
  std::vector<const scheduler*> answered;
  std::vector<finding> findings;
};

// A scheduler that its driver keeps in its loop meanwhile.
class task_scope::kept_home {
 public:
  explicit kept_home(scheduler& s) noexcept : home_(&s) { s.work_started(); }
  kept_home(kept_home&& other) noexcept : home_(std::exchange(other.home_, nullptr)) {}
  kept_home& operator=(kept_home&&) = delete;
  ~kept_home() {
    if (home_) home_->work_finished();
  }
  [[nodiscard]] scheduler& get() const noexcept { return *home_; }

 private:
  scheduler* home_;
};

// Asks one scheduler about the tasks that live there: of one scope, or of all.
class task_scope::inquiry : public work_item {
 public:
  // `only`: null for all scopes.
  inquiry(const task_scope* only, kept_home home, std::shared_ptr<answers> to)
      : only_(only), home_(std::move(home)), to_(std::move(to)) {
    run_ = [](work_item& item) noexcept {
      const std::unique_ptr<inquiry> self(static_cast<inquiry*>(&item));
      self->answer_unless_abandoned();
    };
  }

  // Hands the question over to the scheduler; on the thread that drives it it is answered at once.
  void send(const std::vector<const scheduler*>& driven) noexcept {
    const scheduler* const home = &home_.get();
    if (home == scheduler::current() ||
        std::find(driven.begin(), driven.end(), home) != driven.end()) {
      run_(*this);
    } else {
      home_.get().post(*this);
    }
  }

 private:
  // On the scheduler's thread: its tasks, and so their scopes, cannot end meanwhile.
  void answer() const {
    for (const auto& [scope, task] : tasks_here()) {
      to_->findings.push_back(
          {scope, {task, detail::name_of(*task), detail::position_of(*task, task->innermost_)}});
    }
    to_->answered.push_back(&home_.get());
  }

  [[nodiscard]] std::vector<std::pair<const task_scope*, const context*>> tasks_here() const {
    std::vector<std::pair<const task_scope*, const context*>> found;
    const auto add_tasks_of = [&](const task_scope& s) {
      const detail::lock_guard lock(s.mutex_);
      for (const context* c = s.children_; c; c = c->following_) {
        if (c->home_ == &home_.get()) found.emplace_back(&s, c);
      }
    };
    if (only_) {
      add_tasks_of(*only_);
    } else {
      const std::lock_guard lock(detail::scope_registry::mutex());
      for (task_scope* s = detail::scope_registry::first(); s;
           s = detail::scope_registry::next(*s)) {
        add_tasks_of(*s);
      }
    }
    return found;
  }

  void answer_unless_abandoned() const {
    const std::lock_guard lock(to_->mutex);
    if (to_->abandoned) return;
    answer();
    if (--to_->missing == 0) to_->arrived.notify_one();
  }

  const task_scope* const only_;
  const kept_home home_;
  const std::shared_ptr<answers> to_;
};

// The schedulers with tasks of `only`, or of all scopes, each once.
std::vector<task_scope::kept_home> task_scope::homes_of(const task_scope* only) {
  std::vector<kept_home> all;
  const auto known = [&](const scheduler& s) {
    return std::any_of(all.begin(), all.end(), [&](const kept_home& k) { return &k.get() == &s; });
  };
  const auto add_homes_of = [&](const task_scope& s) {
    const detail::lock_guard lock(s.mutex_);
    for (const context* c = s.children_; c; c = c->following_) {
      if (!known(*c->home_)) all.emplace_back(*c->home_);
    }
  };
  if (only) {
    add_homes_of(*only);
  } else {
    const std::lock_guard lock(detail::scope_registry::mutex());
    for (task_scope* s = detail::scope_registry::first(); s; s = detail::scope_registry::next(*s)) {
      add_homes_of(*s);
    }
  }
  return all;
}

// Holds no lock while it waits: who is asked may be about to make or to destroy a scope.
std::shared_ptr<task_scope::answers> task_scope::ask(const task_scope* only, duration patience,
                                                     const std::vector<const scheduler*>& driven) {
  const auto to = std::make_shared<answers>();
  std::vector<std::unique_ptr<inquiry>> questions;
  for (kept_home& home : homes_of(only)) {
    questions.push_back(std::make_unique<inquiry>(only, std::move(home), to));
  }
  to->missing = questions.size();
  for (auto& question : questions) question.release()->send(driven);
  std::unique_lock lock(to->mutex);
  to->arrived.wait_for(lock, patience, [&] { return to->missing == 0; });
  to->abandoned = true;
  return to;
}

// The tasks of this scope: those that were found, and what is known of those whose scheduler did
// not answer.
std::vector<task_scope::task_report> task_scope::told_by(const answers& a) const {
  std::vector<task_report> reports;
  for (const answers::finding& f : a.findings) {
    if (f.scope == this) reports.push_back(f.report);
  }
  const detail::lock_guard lock(mutex_);
  for (const context* c = children_; c; c = c->following_) {
    if (std::find(a.answered.begin(), a.answered.end(), c->home_) != a.answered.end()) continue;
    reports.push_back({c, detail::name_of(*c), "not known: its scheduler does not answer"});
  }
  return reports;
}

std::vector<task_scope::task_report> task_scope::report(duration patience) const {
  return told_by(*ask(this, patience, {}));
}

// Prints the scopes that are alive and what was told of their tasks.
class task_scope::printer {
 public:
  printer(std::ostream& out, const answers& a) : out_(out), answers_(a) {}

  void print_all() {
    const std::lock_guard lock(detail::scope_registry::mutex());
    print_below(nullptr, 0);
    // Those whose maker has ended before them.
    for (task_scope* s = first(); s; s = next(*s)) print(*s, 0);
  }

 private:
  static task_scope* first() { return detail::scope_registry::first(); }
  static task_scope* next(const task_scope& s) { return detail::scope_registry::next(s); }

  void print_below(const context* parent, int depth) {
    for (task_scope* s = first(); s; s = next(*s)) {
      if (s->parent_ == parent) print(*s, depth);
    }
  }

  void print(const task_scope& s, int depth) {
    if (std::find(printed_.begin(), printed_.end(), &s) != printed_.end()) return;
    printed_.push_back(&s);
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    const auto reports = s.told_by(answers_);
    out_ << indent << s.kind();
    if (!s.name().empty()) out_ << " '" << s.name() << "'";
    out_ << ", " << reports.size() << (reports.size() == 1 ? " task" : " tasks");
    if (s.stop_requested()) out_ << ", stop requested";
    out_ << '\n';
    for (const task_report& r : reports) {
      out_ << indent << "  " << r.name << ": ";
      for (const char c : r.position) {
        out_ << c;
        if (c == '\n') out_ << indent << "    ";
      }
      out_ << '\n';
      print_below(r.task, depth + 2);
    }
  }

  std::ostream& out_;
  const answers& answers_;
  std::vector<const task_scope*> printed_;
};

void dump(std::ostream& out, duration patience) {
  task_scope::printer(out, *task_scope::ask(nullptr, patience, {})).print_all();
}

std::string detail::scope_registry::where_everyone_is(std::size_t live_tasks,
                                                      const std::vector<const scheduler*>& driven) {
  std::ostringstream out;
  out << live_tasks << (live_tasks == 1 ? " task has" : " tasks have") << " not ended\n";
  task_scope::printer(out, *task_scope::ask(nullptr, duration::zero(), driven)).print_all();
  return std::move(out).str();
}

// Friend of what runs: each kind is known by its function.
std::string detail::to_text(const work_item& item) {
  if (item.run_ == &wait::resume) {
    const auto& w = static_cast<const wait&>(item);
    std::ostringstream text;
    text << (w.context_ ? name_of(*w.context_) : "a coroutine") << " goes on after "
         << w.what().verb << ' ';
    w.what().describe(w, text);
    return text.str() + ", at " + to_text(w.where());
  }
  if (item.run_ == &task_scope::start || item.run_ == &task_scope::start_from_elsewhere) {
    return name_of(static_cast<const context&>(item)) + " begins";
  }
  return "the library's own work";
}

}  // namespace leat
