#include "async/dump/dump_collector.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>

#include "async/dump/internal/dump_printers.hpp"
#include "async/dump/live_objects.hpp"
#include "async/dump/wait_cycles.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "async/internal/scope_registry.hpp"
#include "async/internal/watched_run.hpp"
#include "async/thread_registry.hpp"
#include "base/text/text_in_seconds.hpp"
#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/task.hpp"
#include "leat/base/internal/preemption_hook.hpp"

namespace LEAT::detail {

// A dump has two phases. First each scheduler with tasks reports them in its next turn, when none
// of them runs except a task that calls dump(); meanwhile the caller holds no lock. Then the scopes
// that are alive at that moment are listed with these reports. Each scheduler is consistent in
// itself, but not with the others: a scope that has ended since is left out, and so is a task that
// has started on a scheduler after its report.
//
// Lock order: the replies, then either the shards of scope_registry and one scope, or the list of
// live objects and one object. No object is inspected while the shards are locked. The lock of a
// watched_run is the last one.

// ------------------------------------------------------------------------------------- the scopes

// The live scopes that a dump covers, newest first; they remain alive.
class dump_collector::selected_scopes {
 public:
  // `only`: the number of a scope, to select it and those below it; 0: all.
  explicit selected_scopes(std::uint64_t only) {
    locked_.each([this](task_scope& s) { scopes_.push_back(&s); });
    std::sort(scopes_.begin(), scopes_.end(),
              [](const task_scope* a, const task_scope* b) { return a->number() > b->number(); });
    if (only == 0) return;
    // The creator of a scope is older than the scope, so one pass from the oldest finds all.
    std::vector<std::uint64_t> numbers{only};
    std::vector<task_scope*> below;
    for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s) {
      const bool made_there =
          std::find(numbers.begin(), numbers.end(), (*s)->maker_.scope) != numbers.end();
      if ((*s)->number() != only && !made_there) continue;
      numbers.push_back((*s)->number());
      below.push_back(*s);
    }
    scopes_.assign(below.rbegin(), below.rend());
  }

  [[nodiscard]] const std::vector<task_scope*>& scopes() const noexcept { return scopes_; }

  // Calls f with each task that has not ended, and its scope. The tasks cannot end meanwhile.
  template <class F>
  void each_task(F&& f) const {
    for (const task_scope* s : scopes_) {
      const biased_lock lock(s->mutex_);
      for (const task_context* c = s->children_; c; c = c->following_) f(*s, *c);
    }
  }

 private:
  const scope_registry::lock_all locked_;
  std::vector<task_scope*> scopes_;
};

// --------------------------------------------------------------------------------------- one task

namespace {

bool same_location(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && std::string_view(a.file_name()) == b.file_name();
}

wait_state make_wait_state(const wait_operation& w, duration lasted) {
  std::ostringstream words;
  w.what().describe(w, words);
  wait_state state{
      std::string(w.what().verb), std::move(words).str(), {}, to_code_location(w.where()), lasted};
  if (w.what().inspect) w.what().inspect(w, state.object);
  return state;
}

}  // namespace

task_state dump_collector::static_info(const task_context& task) {
  task_state state;
  state.id = task.id();
  state.name = name_of(task);
  state.spawned_at = to_code_location(task.spawned_at());
  state.scheduler = &task.get_scheduler();
  return state;
}

// On the task's own thread.
task_state dump_collector::query_task(const task_context& task) {
  task_state state = static_info(task);
  state.answered = true;
  if (task.get_scheduler().dying_task() == &task) return state;  // parts of its frames are gone
  if (const wait_operation* w = task.waiting()) {
    state.waiting = make_wait_state(*w, task.get_scheduler().now() - w->since());
  }
  task_local_node::each_named(task.locals(), [&](const task_local_node& n) {
    state.values.emplace_back(n.name(), n.text());
  });
  const std::source_location* printed = task.waiting() ? &task.waiting()->where() : nullptr;
  for (const promise_base* p = task.innermost_; p && p->parent(); p = p->parent()) {
    const std::source_location& where = p->where();
    // A source location in the library itself, or one that a coroutine of the library received
    // from its caller, which awaits it on the same line.
    if (where.line() == 0 || (printed && same_location(where, *printed))) continue;
    state.awaited_at.push_back(to_code_location(where));
    printed = &where;
  }
  return state;
}

// A task of this scheduler ends on this thread only.
task_state dump_collector::query_first_task(const task_scope& scope) {
  const task_context* first = nullptr;
  {
    const biased_lock lock(scope.mutex_);
    first = scope.children_;
  }
  return first ? query_task(*first) : task_state();
}

// -------------------------------------------------------------------------- asking the schedulers

// Shared by the caller and the queries: a scheduler that is stuck may run its query after the
// caller has left. All members are guarded by `mutex`.
struct dump_collector::replies {
  std::mutex mutex;
  std::condition_variable arrived;
  std::size_t missing = 0;
  bool abandoned = false;  // the caller of the dump has left
  std::vector<const scheduler*> replied;
  std::vector<task_state> tasks;
  std::vector<object_state> objects;  // each reported by the thread that owns its lock

  [[nodiscard]] bool has_replied(const scheduler& s) const {
    return std::find(replied.begin(), replied.end(), &s) != replied.end();
  }
};

// Owns itself after send(), and is destroyed when it has run. Its hold keeps the scheduler usable
// until then.
class dump_collector::query : public work_item {
 public:
  query(std::uint64_t only, bool for_metrics, scheduler_hold sched, std::shared_ptr<replies> to)
      : only_(only), for_metrics_(for_metrics), scheduler_(std::move(sched)), to_(std::move(to)) {
    run_ = &query::run;
  }

  static void run(work_item& item) noexcept {
    const std::unique_ptr<query> self(static_cast<query*>(&item));
    self->reply_unless_abandoned();
  }

  // Posts the query to the scheduler; on the thread that drives the scheduler it is answered at
  // once.
  void send(const std::vector<const scheduler*>& driven) noexcept {
    const scheduler* const sched = &scheduler_.get();
    if (sched == scheduler::current() ||
        std::find(driven.begin(), driven.end(), sched) != driven.end()) {
      run_(*this);
    } else {
      const scheduler_hold until_posted(
          scheduler_.get());  // this may be gone before post() returns
      until_posted.get().post(*this);
    }
  }

 private:
  // On the scheduler's thread: its tasks, and so their scopes, cannot end meanwhile.
  [[nodiscard]] std::vector<const task_context*> tasks_here() const {
    std::vector<const task_context*> found;
    selected_scopes(only_).each_task([&](const task_scope&, const task_context& c) {
      if (&c.get_scheduler() == &scheduler_.get()) found.push_back(&c);
    });
    return found;
  }

  void reply_unless_abandoned() const {
    const preemption_hook::disabled while_locked;  // as in collect()
    const std::lock_guard lock(to_->mutex);
    if (to_->abandoned) return;
    const std::size_t before = to_->tasks.size();
    try {
      if (for_metrics_) {
        scheduler_.get().publish_counters();
      } else {
        for (const task_context* task : tasks_here()) to_->tasks.push_back(query_task(*task));
      }
      if (only_ == 0) add_objects();
      to_->replied.push_back(&scheduler_.get());
    } catch (const std::bad_alloc&) {  // treated as no reply; the queried thread must not fail
      to_->tasks.resize(before);
    }
    if (--to_->missing == 0) to_->arrived.notify_one();
  }

  // The owner of an object's lock can read the object without losing the ownership.
  void add_objects() const {
    std::vector<object_state> mine = live_objects::owned_by_this_thread(
        for_metrics_ ? live_object::access::metrics_as_owner : live_object::access::as_owner);
    to_->objects.insert(to_->objects.end(), std::make_move_iterator(mine.begin()),
                        std::make_move_iterator(mine.end()));
  }

  const std::uint64_t only_;
  const bool for_metrics_;
  const scheduler_hold scheduler_;
  const std::shared_ptr<replies> to_;
};

bool is_dump_query(const work_item& item) noexcept {
  return item.run_ == &dump_collector::query::run;
}

// The schedulers with tasks, each once.
std::vector<scheduler_hold> dump_collector::find_schedulers(std::uint64_t only) {
  std::vector<scheduler_hold> all;
  selected_scopes(only).each_task([&](const task_scope&, const task_context& c) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const scheduler_hold& k) {
      return &k.get() == &c.get_scheduler();
    });
    if (!known) all.emplace_back(c.get_scheduler());
  });
  return all;
}

// Holds no lock while it waits: a queried scheduler may be about to create or destroy a scope.
std::shared_ptr<dump_collector::replies> dump_collector::query_schedulers(
    std::uint64_t only, duration patience, const std::vector<const scheduler*>& driven,
    bool for_metrics) {
  const auto to = std::make_shared<replies>();
  std::vector<std::unique_ptr<query>> queries;
  for (scheduler_hold& sched : find_schedulers(only)) {
    queries.push_back(std::make_unique<query>(only, for_metrics, std::move(sched), to));
  }
  to->missing = queries.size();
  for (auto& each : queries) each.release()->send(driven);
  std::unique_lock lock(to->mutex);
  const time_point deadline = deadline_after(std::chrono::steady_clock::now(), patience);
  const auto all_have_replied = [&] { return to->missing == 0; };
  if (deadline == no_deadline) {
    to->arrived.wait(lock, all_have_replied);
  } else {
    to->arrived.wait_until(lock, deadline, all_have_replied);
  }
  to->abandoned = true;
  return to;
}

// ---------------------------------------------------------------------------- putting it together

namespace {

std::vector<scope_state>::iterator find(std::vector<scope_state>& all, std::uint64_t number) {
  return std::find_if(all.begin(), all.end(),
                      [&](const scope_state& s) { return s.number == number; });
}

}  // namespace

// Returns the live scopes with the replies about their tasks; other tasks have static information.
std::vector<scope_state> dump_collector::make_scope_states(std::uint64_t only,
                                                           process_snapshot& state,
                                                           const replies& r) {
  std::vector<scope_state> all;
  const selected_scopes selected(only);
  for (const task_scope* s : selected.scopes()) {
    all.push_back({s->number(), s->maker_, std::string(s->kind()), std::string(s->name()),
                   s->stop_requested()});
    for (const task_state& t : r.tasks) {
      if (t.id.scope == s->number()) all.back().tasks.push_back(t);
    }
  }
  const auto count_unresponsive = [&](const scheduler& sched) {
    for (unresponsive_scheduler& s : state.unresponsive) {
      if (s.scheduler == &sched) return ++s.tasks;
    }
    return state.unresponsive.emplace_back(unresponsive_scheduler{&sched, 1}).tasks;
  };
  selected.each_task([&](const task_scope& s, const task_context& c) {
    if (r.has_replied(c.get_scheduler())) return;
    count_unresponsive(c.get_scheduler());
    task_state& task = find(all, s.number())->tasks.emplace_back(static_info(c));
    if (const auto running = watched_run::find_running(c.get_scheduler().record())) {
      task.held_by = task_text(running->name) + " has held its loop for " +
                     text_in_seconds(running->lasted) + " (thread " +
                     std::to_string(running->thread) + ")";
    }
  });
  for (scope_state& s : all) {  // the newest first, in any order of replies
    std::sort(s.tasks.begin(), s.tasks.end(),
              [](const task_state& x, const task_state& y) { return x.id.index > y.id.index; });
  }
  return all;
}

// Queries no thread: each one records what it waits for before it blocks.
void dump_collector::add_threads(std::vector<scope_state>& all) {
  const std::lock_guard lock(thread_registry::mutex());
  const thread_record* p = thread_registry::first();
  for (; p; p = thread_registry::next(*p)) {
    const auto scope = find(all, p->id().scope);
    if (scope == all.end()) continue;
    thread_state state;
    state.id = p->id();
    state.name = p->name();
    state.started_elsewhere = p->started_elsewhere();
    if (p->blocked_on()) {
      state.waiting =
          make_wait_state(*p->blocked_on(), std::chrono::steady_clock::now() - p->since());
      state.blocked_on = p->blocked_on();
    }
    scope->threads.insert(scope->threads.begin(), std::move(state));  // the oldest first
  }
}

// Adds the name of the holder to each wait for a lock.
void dump_collector::name_holders(std::vector<scope_state>& scopes) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> names;
  std::vector<wait_state*> waits;
  const auto add = [&](auto& who) {
    if (!who.waiting || !who.waiting->object.holder) return;
    waits.push_back(&*who.waiting);
    const task_id holder = who.waiting->object.holder->task;
    names.try_emplace({holder.scope, holder.index});
  };
  const auto set_name = [&](const auto& who) {
    if (const auto at = names.find({who.id.scope, who.id.index}); at != names.end())
      at->second = who.name;
  };
  const auto each = [&scopes](auto&& f) {
    for (scope_state& s : scopes) {
      for (task_state& t : s.tasks) f(t);
      for (thread_state& t : s.threads) f(t);
    }
  };
  each(add);
  if (waits.empty()) return;
  each(set_name);
  for (wait_state* const w : waits) {
    const wait_target::hold& holder = *w->object.holder;
    w->words = w->object.type;
    if (!w->object.name.empty()) w->words += " '" + w->object.name + "'";
    w->words += to_text(holder, names[{holder.task.scope, holder.task.index}]);
  }
}

// Names the tasks and threads of waiting operations.
void dump_collector::add_objects(const std::vector<scope_state>& scopes, process_snapshot& state,
                                 const replies& r) {
  state.objects = live_objects::all(r.objects);
  std::erase_if(state.objects,
                [](const object_state& o) { return o.type != "queue" && o.waiting.empty(); });
  std::map<std::pair<std::uint64_t, std::uint64_t>, const task_state*> tasks;
  std::map<const void*, const thread_state*> threads;
  for (const scope_state& s : scopes) {
    for (const task_state& t : s.tasks) tasks.try_emplace({t.id.scope, t.id.index}, &t);
    for (const thread_state& t : s.threads) threads.try_emplace(t.blocked_on, &t);
  }
  for (object_state& o : state.objects) {
    for (waiting_operation& w : o.waiting) {
      const auto task = tasks.find({w.task.scope, w.task.index});
      if (task != tasks.end()) w.name = task->second->name;
      const auto thread = threads.find(w.wait);
      if (thread == threads.end()) continue;
      w.name = thread->second->name;
      w.task = thread->second->id;
    }
  }
}

namespace {

// Lists each scope below the task or thread that created it.
class scope_tree {
 public:
  explicit scope_tree(std::vector<scope_state> all) : left_(std::move(all)) {}

  std::vector<scope_state> build() {
    std::vector<scope_state> roots =
        take([](const scope_state& s) { return s.parent == task_id{}; });
    // Scopes whose creating task has ended.
    std::vector<task_id> living;
    for (const std::vector<scope_state>* const some : {&left_, &roots}) {
      for (const scope_state& s : *some) {
        for (const task_state& t : s.tasks) living.push_back(t.id);
        for (const thread_state& t : s.threads) living.push_back(t.id);
      }
    }
    auto orphans = take([&](const scope_state& s) {
      return std::find(living.begin(), living.end(), s.parent) == living.end();
    });
    std::move(orphans.begin(), orphans.end(), std::back_inserter(roots));
    for (scope_state& s : roots) adopt(s);
    return roots;
  }

 private:
  template <class Predicate>
  std::vector<scope_state> take(Predicate wanted) {
    std::vector<scope_state> taken;
    std::vector<scope_state> rest;
    for (scope_state& s : left_) (wanted(s) ? taken : rest).push_back(std::move(s));
    left_ = std::move(rest);
    return taken;
  }

  void adopt(scope_state& s) {
    const auto adopt_below = [this](auto& maker) {
      maker.scopes = take([&](const scope_state& made) { return made.parent == maker.id; });
      for (scope_state& made : maker.scopes) adopt(made);
    };
    for (thread_state& t : s.threads) adopt_below(t);
    for (task_state& t : s.tasks) adopt_below(t);
  }

  std::vector<scope_state> left_;
};

}  // namespace

process_snapshot dump_collector::collect(const task_scope* only, duration patience,
                                         const std::vector<const scheduler*>& driven) {
  // A simulated thread that is suspended in between would block the registries for the others.
  const preemption_hook::disabled while_locked;
  const std::uint64_t number = only ? only->number() : 0;
  const auto collected = query_schedulers(number, patience, driven);
  process_snapshot state;
  std::vector<scope_state> all = make_scope_states(number, state, *collected);
  add_threads(all);
  name_holders(all);
  if (!only) add_objects(all, state, *collected);
  state.cycles = find_cycles(all, only != nullptr);
  state.scopes = scope_tree(std::move(all)).build();
  const auto selected = find(state.scopes, number);
  if (selected != state.scopes.end()) {
    std::rotate(state.scopes.begin(), selected, selected + 1);
  }
  return state;
}

live_objects::totals_by_name dump_collector::collect_metrics(duration patience) {
  const preemption_hook::disabled while_locked;  // as in collect()
  const auto collected = query_schedulers(0, patience, {}, true);
  std::vector<object_state> objects;
  {
    const std::lock_guard lock(collected->mutex);
    objects = std::move(collected->objects);
  }
  return live_objects::sum_metrics(std::move(objects));
}

}  // namespace LEAT::detail
