#include "async/tracing/trace_recorder.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "async/dump/all_signals_blocked.hpp"
#include "async/dump/live_objects.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "async/tracing/trace_text.hpp"
#include "base/internal/fork_generation.hpp"
#include "base/internal/thread_not_started.hpp"
#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

// Lock order: mutex_, which guards the set of tracks, then the lock of a track, then sizes_mutex_
// and the locks inside trace_output and live_objects. A hook takes mutex_ only if the last event of
// its thread was one of another scheduler.
//
// A track is never removed while its recorder exists, so a thread may keep a pointer to it. A
// scheduler that is created at the address of a former one continues its track. Each scheduler
// shares the recorder, through its list of hooks, until its first turn after end().

namespace {

// A text of this size goes to the output.
constexpr std::size_t chunk_size = std::size_t{64} << 10;

// Shorter runs do not name the places between which the task ran.
constexpr duration long_run = std::chrono::microseconds(50);

// The share of its time that a scheduler may use for samples of queues is the inverse of this.
constexpr int sample_share = 50;

std::atomic<std::uint64_t> last_serial{0};

std::string id_text(const task_context& task) {
  return std::to_string(task.id().scope) + "." + std::to_string(task.id().index);
}

// "pop from queue 'lines'", "await async_read_until of connection '10.0.0.7:80'"
std::string wait_name(const wait_operation& w) {
  std::string name(w.what().verb);
  if (!w.what().inspect) return name;
  wait_target target;
  target.needs_state = false;
  w.what().inspect(w, target);
  if (target.type.empty()) return name;
  if (!target.operation.empty()) name += " " + target.operation + " of";
  name += " " + target.type;
  if (!target.name.empty()) name += " '" + target.name + "'";
  return name;
}

// The values of named task-locals. The prefix distinguishes them from the other arguments.
void add_locals(trace_event& event, const task_context& task) {
  task_local_node::each_named(task.locals(), [&](const task_local_node& n) {
    event.argument("local." + escaped_json(n.name()), escaped_json(n.text()));
  });
}

}  // namespace

struct trace_recorder::live_task {
  std::string name;   // escaped, like the other texts
  std::string wait;   // for which it waits, or has waited last; empty: it has not waited
  std::string place;  // of the wait
  bool is_waiting = false;
};

struct trace_recorder::track {
  explicit track(std::uint64_t n) noexcept : number(n) {}

  const std::uint64_t number;
  std::mutex mutex;  // guards the rest
  std::string text;
  std::uint64_t events = 0;  // in the text
  std::unordered_map<const task_context*, live_task> tasks;
  std::vector<duration> runs;  // the start of the run in progress, and of those around it
  std::uint64_t turn = 0;
  std::uint64_t turn_runs = 0;
  duration turn_begin{};
  duration last_end{};
};

trace_recorder::trace_recorder(std::string path, const trace_file_options& options)
    : serial_(last_serial.fetch_add(1) + 1),
      generation_(fork_generation()),
      queue_interval_(options.queue_interval),
      output_(std::move(path), options.max_bytes) {}

trace_recorder::~trace_recorder() = default;

// ------------------------------------------------------------------------------------ the thread

void trace_recorder::begin(const std::shared_ptr<trace_recorder>& self) {
  std::string first = "[\n";
  trace_event(first, 'M', "process_name")
      .argument("name", escaped_json(::program_invocation_short_name))
      .end();
  self->output_.add(first);
  auto installed = std::make_unique<task_hooks_scope>(self);
  const all_signals_blocked for_the_thread;
  try {
    // Detached: in a child of fork() it does not exist, and after std::exit() it still runs.
    std::thread([self] {
      ::pthread_setname_np(::pthread_self(), "leat trace");
      self->output_.write_until_closed([&] { self->collect(); });
    }).detach();
  } catch (const std::system_error& error) {
    throw failure(error.code(), thread_not_started("trace_file: its thread"));
  }
  self->installed_ = std::move(installed);
}

void trace_recorder::end() {
  installed_.reset();
  if (generation_ != fork_generation()) return;
  std::string last;  // empty if there is no memory: the file then counts as cut off
  try {
    end_turns();
    collect();
    last = last_line();
  } catch (const std::bad_alloc&) {
    collect();
  }
  std::uint64_t offset = 0;
  if (const std::error_code error = output_.close(std::move(last), offset)) {
    throw failure(error, "trace_file: cannot write '" + output_.path() + "' at offset " +
                             std::to_string(offset) +
                             ", so the trace is cut off there: free space, or set "
                             "trace_file_options::max_bytes");
  }
}

void trace_recorder::end_turns() {
  const std::lock_guard lock(mutex_);
  for (const auto& [s, t] : tracks_) {
    const std::lock_guard track_lock(t->mutex);
    if (output_.is_open()) end_turn(*t);
  }
}

std::string trace_recorder::last_line() const {
  std::string text;
  trace_event(text, 'M', "trace_end")
      .argument("lost_events", lost_events_.load())
      .argument("reached_max_bytes", output_.is_full() ? 1 : 0)
      .end();
  text.replace(text.size() - 2, 2, "\n]\n");
  return text;
}

void trace_recorder::hand_over(track& t) noexcept {
  if (!output_.add(t.text) && !output_.is_full()) lost_events_ += t.events;
  t.text.clear();
  t.events = 0;
}

void trace_recorder::collect() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [s, t] : tracks_) {
    const std::lock_guard track_lock(t->mutex);
    if (!t->text.empty()) hand_over(*t);
  }
}

// -------------------------------------------------------------------------------------- the tracks

bool trace_recorder::is_recording() const noexcept {
  return output_.is_open() && generation_ == fork_generation();
}

trace_recorder::track& trace_recorder::track_of(const scheduler& s) {
  struct last_track {
    std::uint64_t serial = 0;
    const scheduler* sched = nullptr;
    track* found = nullptr;
  };
  thread_local constinit last_track last;
  // The serial number, and not the address, identifies the recorder: another one may be created
  // where this one was destroyed.
  if (last.serial == serial_ && last.sched == &s) return *last.found;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<track>& t = tracks_[&s];
  if (!t) {
    t = std::make_unique<track>(tracks_.size());
    trace_event(t->text, 'M', "thread_name")
        .thread(t->number)
        .argument("name", "scheduler " + std::to_string(t->number))
        .end();
  }
  last = {serial_, &s, t.get()};
  return *t;
}

duration trace_recorder::since_begin(time_point now) noexcept {
  const std::int64_t ticks = now.time_since_epoch().count();
  if (!has_begun_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(sizes_mutex_);
    // The first event of any scheduler sets the begin. sample_queues() calls this with the lock
    // held, but only after its own event has set it.
    if (!has_begun_.load()) {
      begin_.store(ticks);
      has_begun_.store(true, std::memory_order_release);
    }
  }
  return duration(ticks - begin_.load(std::memory_order_relaxed));
}

template <class F>
void trace_recorder::on_track(const task_context& task, F record) noexcept {
  if (!is_recording()) return;
  try {
    const scheduler& s = task.get_scheduler();
    track& t = track_of(s);
    const duration now = since_begin(s.now());
    const std::lock_guard lock(t.mutex);
    const std::size_t size = t.text.size();
    const std::uint64_t events = t.events;
    try {
      record(t, now);
    } catch (...) {         // no memory
      t.text.resize(size);  // without a part of an event
      t.events = events;
      t.runs.clear();
      t.tasks.erase(&task);
      throw;
    }
    if (t.text.size() >= chunk_size) hand_over(t);
  } catch (const std::exception&) {
    ++lost_events_;
  }
}

// A task that had started before the trace begins to live in it with its first event.
trace_recorder::live_task& trace_recorder::find_task(track& t, const task_context& task,
                                                     duration now) {
  live_task& found = t.tasks[&task];
  if (!found.name.empty()) return found;
  found.name = escaped_json(name_of(task));
  trace_event(t.text, 'b', found.name)
      .category("task")
      .id(id_text(task))
      .at(now)
      .argument("spawned", escaped_json(to_text(task.spawned_at())))
      .argument("scheduler", t.number)
      .end();
  ++t.events;
  return found;
}

// ------------------------------------------------------------------------------------- the events

void trace_recorder::on_start(const task_context& task) noexcept {
  on_track(task, [&](track& t, duration now) {
    t.tasks.erase(&task);  // left by a task whose end was lost
    find_task(t, task, now);
    begin_run(t, task, now);
  });
}

void trace_recorder::on_resume(const task_context& task) noexcept {
  on_track(task, [&](track& t, duration now) {
    live_task& resumed = find_task(t, task, now);
    if (std::exchange(resumed.is_waiting, false)) {
      trace_event(t.text, 'e', resumed.wait).category("task").id(id_text(task)).at(now).end();
      ++t.events;
    }
    begin_run(t, task, now);
  });
}

void trace_recorder::begin_run(track& t, const task_context& task, duration now) {
  const scheduler& s = task.get_scheduler();
  if (t.turn != s.turn_number()) {
    end_turn(t);
    t.turn = s.turn_number();
    t.turn_begin = now;
  }
  ++t.turn_runs;
  if (queue_interval_ > duration::zero() && now.count() >= next_sample_.load()) {
    sample_queues(t, s, now);
    now = since_begin(s.now());
  }
  t.runs.push_back(now);
}

void trace_recorder::end_run(track& t, const task_context& task, duration now,
                             std::string_view until, std::string_view place) {
  if (t.runs.empty()) return;  // the trace has begun in this run
  const duration begin = t.runs.back();
  t.runs.pop_back();
  t.last_end = now;
  const live_task& ran = find_task(t, task, now);
  trace_event event(t.text, 'X', ran.name);
  event.category(t.runs.empty() ? "run" : "inner_run")
      .thread(t.number)
      .at(begin)
      .lasting(now - begin);
  event.argument("task", id_text(task));
  if (now - begin >= long_run) {
    if (!ran.place.empty()) event.argument("from", ran.place);
    event.argument("until", place.empty() ? until : place);
    add_locals(event, task);
  }
  event.end();
  ++t.events;
}

// A turn with one run is not shown, since the run says the same.
void trace_recorder::end_turn(track& t) {
  if (t.turn_runs > 1) {
    trace_event(t.text, 'X', "turn")
        .category("turn")
        .thread(t.number)
        .at(t.turn_begin)
        .lasting(t.last_end - t.turn_begin)
        .argument("runs", t.turn_runs)
        .end();
    ++t.events;
  }
  t.turn_runs = 0;
}

void trace_recorder::on_wait(const task_context& task, const wait_operation& operation) noexcept {
  on_track(task, [&](track& t, duration now) {
    std::string wait = escaped_json(wait_name(operation));
    std::string place = escaped_json(to_text(operation.where()));
    end_run(t, task, now, wait, place);
    live_task& waits = find_task(t, task, now);
    trace_event event(t.text, 'b', wait);
    event.category("task").id(id_text(task)).at(now).argument("at", place);
    add_locals(event, task);
    event.end();
    ++t.events;
    waits.wait = std::move(wait);
    waits.place = std::move(place);
    waits.is_waiting = true;
  });
}

void trace_recorder::on_end(const task_context& task, const std::exception_ptr& error) noexcept {
  on_track(task, [&](track& t, duration now) {
    const live_task& ended = find_task(t, task, now);
    if (ended.is_waiting) {  // it is destroyed with its scheduler
      trace_event(t.text, 'e', ended.wait).category("task").id(id_text(task)).at(now).end();
    } else {
      end_run(t, task, now, "the end of the task", {});
    }
    trace_event event(t.text, 'e', ended.name);
    event.category("task").id(id_text(task)).at(now);
    if (error) event.argument("error", escaped_json(to_error_code(error).message()));
    event.end();
    ++t.events;
    t.tasks.erase(&task);
  });
}

void trace_recorder::sample_queues(track& t, const scheduler& s, duration now) {
  const std::unique_lock lock(sizes_mutex_, std::try_to_lock);
  if (!lock) return;                                     // another scheduler takes the sample
  std::unordered_map<std::uint64_t, std::size_t> sizes;  // without queues that are gone
  live_objects::sample([&](std::uint64_t number, const std::string& name, std::size_t size) {
    sizes.emplace(number, size);
    const auto known = sizes_.find(number);
    if (known != sizes_.end() && known->second == size) return;
    const std::string title = name.empty()
                                  ? "queue " + std::to_string(number)
                                  : "queue '" + name + "' (" + std::to_string(number) + ")";
    trace_event(t.text, 'C', escaped_json(title)).at(now).argument("items", size).end();
    ++t.events;
  });
  sizes_ = std::move(sizes);
  const duration cost = since_begin(s.now()) - now;
  next_sample_.store((now + std::max(queue_interval_, cost * sample_share)).count());
}

}  // namespace LEAT::detail
