#include "leat/sim/world/world.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "async/internal/live_tasks_text.hpp"
#include "async/internal/scope_registry.hpp"
#include "base/internal/error_text.hpp"
#include "base/internal/standard_error.hpp"
#include "base/text/milliseconds_text.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/frame_allocator.hpp"
#include "sim/world/simulated_calls.hpp"
#include "sim/world/simulated_turn.hpp"

namespace LEAT::sim {

using leat::detail::milliseconds_text;

namespace {

// Tasks that still run this many steps after a stop request are not going to end.
constexpr std::uint64_t max_idle_turns = 1'000'000;

// The stream of numbers of a seed that makes decisions. It is not the seed's own stream, which the
// program uses for its input and shuffles.
constexpr std::uint64_t decision_stream = 0;

std::string name_of_signal(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

void print_line(std::FILE* to, const std::string& line) {
  if (!to) return;
  if (to == stderr) return leat::detail::write_stderr(line + "\n");
  std::fprintf(to, "%s\n", line.c_str());
}

class installed_handler {
 public:
  using preemption_hook = leat::detail::preemption_hook;

  explicit installed_handler(preemption_hook::handler& l) noexcept
      : before_(preemption_hook::install(&l)) {}
  ~installed_handler() { preemption_hook::install(before_); }
  installed_handler(const installed_handler&) = delete;
  installed_handler& operator=(const installed_handler&) = delete;

 private:
  preemption_hook::handler* const before_;
};

}  // namespace

// A run alternates between steps and jumps of time. Each step() executes one of all the things that
// can happen now: a timer that is due expires, a thread runs an item, or a part completes an
// operation. If nothing can happen, advance() moves the time to the next event; if there is none
// while tasks are live, the run is a deadlock.
//
// Everything that is not determined by the program is a decision, whose option 0 is the usual case:
// the sources take turns, and nothing fails, is slow or is pre-empted. So a script of zeros is a
// plain schedule, to which shrink() reduces a failure as far as possible.
//
// Allocations fail only within run_program(). Functions of the simulation that the program calls
// begin with `without_faults`, so that their own allocations neither count nor fail.

world::world(decision_source c, std::uint64_t seed, const world_options& options)
    : seed_(seed),
      options_(options),
      decisions_(std::move(c)),
      program_decisions_(decisions_, [this](const decision& d) { trace_decision(d); }),
      random_(seed),
      memory_(decisions_, options.memory),
      files_(decisions_, options.files,
             [this](std::string sentence) { report_violation(std::move(sentence)); }) {
  for (std::size_t i = 0; i < std::max<std::size_t>(options.threads, 1); ++i) {
    threads_.push_back(std::make_unique<virtual_scheduler>(&process_));
    threads_.back()->hold_timers();
    turns_.push_back(std::make_unique<simulated_turn>(*threads_.back()));
  }
  calls_ = std::make_unique<simulated_call_part>(decisions_);
  add_part(files_);
  add_part(*calls_);
}

world::world(std::uint64_t seed, const world_options& options)
    : world(decision_source(random_engine(seed).stream(decision_stream).seed()), seed, options) {}

world::world(std::vector<std::uint32_t> script, std::uint64_t seed, const world_options& options)
    : world(decision_source(std::move(script)), seed, options) {}

world::~world() = default;

void world::add_part(world_part& part) {
  for (const auto& t : threads_) part.install(*t);
  parts_.push_back(&part);
  ready_.resize(threads_.size() + parts_.size());
  set_time_of_parts();
}

void world::jump_wall_clock(std::chrono::nanoseconds by) noexcept {
  process_.jump_wall_clock(by);
  set_time_of_parts();
  if (!tracing_) return;
  const allocation_faults::without_faults own;
  add_to_trace("wall clock", "set by " + milliseconds_text(by) + " ms");
}

void world::set_time_of_parts() noexcept {
  for (world_part* const part : parts_) part->set_time(now_, wall_clock());
}

bool world::raise(int signal) noexcept {
  LEAT_ASSERT(signal >= 1 && signal < NSIG, "signal number is out of range");
  const bool received = process_.raise(signal);
  if (tracing_) {
    const allocation_faults::without_faults own;
    add_to_trace("signal", name_of_signal(signal) + (received ? "" : ", received by no guard"));
  }
  return received;
}

void world::note(std::string_view text) {
  const allocation_faults::without_faults own;
  if (tracing_) add_to_trace("note", std::string(text));
}

// ------------------------------------------------------------------------------------- invariants

void world::always(std::string name, std::function<bool()> holds) {
  const allocation_faults::without_faults own;
  always_.push_back({added_++, std::move(name), std::move(holds)});
}

void world::when_quiet(std::string name, std::function<bool()> holds) {
  const allocation_faults::without_faults own;
  when_quiet_.push_back({added_++, std::move(name), std::move(holds)});
}

void world::never_falls(std::string name, std::function<std::uint64_t()> value) {
  const allocation_faults::without_faults own;
  always(name + " never decreases", [f = std::move(value), last = std::uint64_t{0}]() mutable {
    const std::uint64_t before = std::exchange(last, f());
    return before <= last;
  });
}

void world::watermark(const std::string& name, std::function<std::uint64_t()> reached,
                      std::function<std::uint64_t()> acknowledged) {
  const allocation_faults::without_faults own;
  never_falls(name, reached);
  always(name + " does not exceed the acknowledged value",
         [f = std::move(reached), g = std::move(acknowledged)] { return f() <= g(); });
}

void world::clear_invariants() noexcept {
  always_.clear();
  when_quiet_.clear();
}

void world::drop(std::uint64_t first, std::uint64_t last) noexcept {
  const auto added_there = [=](const invariant& i) { return first <= i.number && i.number < last; };
  std::erase_if(always_, added_there);
  std::erase_if(when_quiet_, added_there);
}

void world::report_violation(std::string sentence) {
  if (violation_.empty()) violation_ = std::move(sentence);
}

void world::check(const std::vector<invariant>& all) {
  for (const invariant& i : all) {
    if (!i.holds()) report_violation("invariant does not hold: " + i.name);
  }
}

// ------------------------------------------------------------------------------------------ steps

void world::trace(const trace_options& options) {
  tracing_ = true;
  trace_ = options;
}

void world::add_to_trace(const std::string& where, const std::string& what) {
  const std::string time = milliseconds_text(now_.time_since_epoch());
  const std::string line =
      "step " + std::to_string(steps_) + ", " + time + " ms, " + where + ": " + what;
  ++lines_;
  print_line(trace_.to, line);
  if (trace_.ends == 0) return;
  // One line between the two ends replaces all omitted ones.
  const std::size_t ends = std::min(trace_.ends, schedule_.max_size() / 4);
  if (schedule_.size() > 3 * ends) {
    const auto middle = schedule_.begin() + static_cast<std::ptrdiff_t>(ends + 1);
    left_out_ += ends;
    if (left_out_ == ends) ++left_out_;  // for the line that this text replaces
    schedule_.erase(middle, middle + static_cast<std::ptrdiff_t>(ends));
    schedule_[ends] = "(" + std::to_string(left_out_) + " lines left out)";
  }
  schedule_.push_back(line);
}

void world::trace_decision(const decision& d) {
  if (!tracing_) return;
  add_to_trace("decision", "'" + std::string(d.about) + "': " + std::to_string(d.chosen) +
                               " of 0 to " + std::to_string(d.options - 1));
}

// Adds text that is known only after the step: to the line of the step if that is the last one.
void world::append_to_trace(const std::string& where, const std::string& what,
                            std::uint64_t step_line) {
  if (what.empty()) return;
  if (lines_ != step_line) return add_to_trace(where, "..." + what);
  print_line(trace_.to, "  ..." + what);
  if (trace_.ends > 0) schedule_.back() += what;
}

std::size_t world::ready_count(std::size_t thread) {
  return turns_[thread]->is_suspended() ? 1 : threads_[thread]->ready();
}

// A pre-empted thread expires its timers after its item.
std::size_t world::due_timers(std::size_t thread) const noexcept {
  return turns_[thread]->is_suspended() ? 0 : threads_[thread]->due_timers();
}

bool world::any_preempted() const noexcept {
  return std::any_of(turns_.begin(), turns_.end(), [](const auto& t) { return t->is_suspended(); });
}

// Returns the preemption point at which the next turn is pre-empted; 0: none.
unsigned world::choose_preemption_point() {
  if (!preempting_ || threads_.size() < 2) return 0;
  if (!decisions_.chance(options_.preemption, "pre-empted?")) return 0;
  constexpr std::size_t points = 12;  // about as many as an item reaches
  return 1 + decisions_.choose(points, "preemption point");
}

// Runs a step of the program. Its line in the schedule is printed before, as the step may end the
// process.
template <class Describe, class Step>
void world::run_program(std::size_t thread, Describe describe, Step run) {
  const bool traced = tracing_;  // the program may begin to trace within this step
  std::string where;
  if (traced) {
    where = "thread " + std::to_string(thread);
    add_to_trace(where, describe());
  }
  const std::uint64_t step_line = lines_;
  const std::size_t failed = memory_.failed().size();
  static_cast<void>(take_fault_text());  // of steps that were not traced
  {
    const allocation_faults::with_faults the_program(memory_);
    run();
  }
  if (!traced) return;
  std::string suffix;
  for (std::size_t i = failed; i < memory_.failed().size(); ++i) {
    suffix.append(", allocation ").append(std::to_string(memory_.failed()[i])).append(" fails");
  }
  suffix += take_fault_text();
  if (turns_[thread]->is_suspended()) suffix += ", pre-empted at a lock";
  append_to_trace(where, suffix, step_line);
}

void world::run_thread(std::size_t thread, std::size_t item) {
  simulated_turn& t = *turns_[thread];
  const unsigned point = choose_preemption_point();
  if (t.is_suspended()) {
    run_program(thread, [] { return "resumes where it was pre-empted"; }, [&] { t.resume(point); });
  } else {
    run_program(
        thread, [&] { return threads_[thread]->describe(item); }, [&] { t.run(item, point); });
  }
}

// As in a turn, the timers of a thread expire in their order. Items may run between two of them,
// because in reality the second one is due a moment later. If the second one was set at this time,
// it may also be due a moment earlier.
void world::expire_timer(std::size_t thread, std::size_t index) {
  virtual_scheduler& t = *threads_[thread];
  run_program(thread, [&] { return t.describe_timer(index); }, [&] { t.expire_timer(index); });
}

void world::complete(world_part& part, std::size_t index) {
  const std::string what = part.complete(index);
  if (tracing_) add_to_trace(std::string(part.part_name()), what);
}

std::string world::take_fault_text() {
  std::string text;
  for (world_part* const part : parts_) text += part->take_fault_text();
  return text;
}

// Runs one step of a thread or of a part. Returns false if nothing can run.
bool world::step() {
  const std::size_t threads = threads_.size();
  const std::size_t sources = threads + parts_.size();
  std::size_t all = 0;
  for (std::size_t i = 0; i < sources; ++i) {
    ready_[i] = i < threads ? ready_count(i) : parts_[i - threads]->due(now_);
    all += ready_[i];
  }
  std::size_t timers = 0;  // that may expire next
  for (std::size_t i = 0; i < threads_.size(); ++i) timers += due_timers(i);
  if (all + timers == 0) return false;
  decisions_.begin_step(++steps_);
  set_time_of_parts();
  // The default is to expire the timers, and then to take turns, so that every source runs.
  std::size_t chosen = decisions_.choose(all + timers, "next to run");
  if (chosen < timers) {
    std::size_t thread = 0;
    while (chosen >= due_timers(thread)) chosen -= due_timers(thread++);
    expire_timer(thread, chosen);
    check(always_);
    return true;
  }
  chosen -= timers;
  std::size_t source = (last_ + 1) % sources;
  while (chosen >= ready_[source]) {
    chosen -= ready_[source];
    source = (source + 1) % sources;
  }
  last_ = source;
  if (source < threads) {
    run_thread(source, chosen);
  } else {
    complete(*parts_[source - threads], chosen);
  }
  check(always_);
  return true;
}

// Advances time to the next event. Returns false if there is none.
bool world::advance() {
  LEAT_ASSERT(!any_preempted(), "time advanced while a pre-empted thread can run");
  time_point next = no_deadline;
  for (const world_part* const part : parts_) next = std::min(next, part->next_completion());
  for (const auto& t : threads_) next = std::min(next, t->next_event());
  if (next == no_deadline) return false;
  now_ = std::max(now_, next);
  for (const auto& t : threads_) t->advance_to(now_);
  ++time_advances_;
  if (options_.wall_jump_plan == time_advances_ ||
      decisions_.chance(options_.wall_jump, "wall clock set?")) {
    set_wall_clock();
  }
  return true;
}

void world::set_wall_clock() {
  constexpr std::uint32_t most = 3600;
  const std::uint32_t chosen = decisions_.choose(2 * most + 1, "by how many seconds");
  const std::chrono::seconds far(chosen <= most ? chosen : chosen - most);
  const std::chrono::seconds by = chosen <= most ? far : -far;
  jump_wall_clock(by);
}

std::size_t world::live_tasks() const noexcept {
  std::size_t sum = 0;
  for (const auto& t : threads_) sum += t->live_tasks();
  return sum;
}

void world::run_until_quiet() {
  while (violation_.empty() && step()) {
    if (steps_ > options_.max_steps) {
      throw step_limit_exceeded(
          "run did not finish after " + std::to_string(steps_) + " steps and " +
          std::to_string(std::chrono::duration<double>(now_.time_since_epoch()).count()) +
          " virtual seconds: " + describe_live_tasks());
    }
  }
}

void world::drive() {
  while (live_tasks() > 0 || any_preempted()) {
    run_until_quiet();
    if (violation_.empty()) check(when_quiet_);
    if (!violation_.empty()) {
      throw invariant_violation("step " + std::to_string(steps_) + ": " +
                                std::exchange(violation_, {}));
    }
    if (live_tasks() == 0) break;  // and no thread is pre-empted, or it could run
    if (!advance()) throw deadlock("deadlock: nothing can run and " + describe_live_tasks());
  }
}

void world::run(const body& b) {
  // Locks that are first acquired in this world do not belong to one of its threads alone.
  leat::detail::preemption_hook::handler nobody{[](auto&) noexcept {}};
  const installed_handler installed(nobody);
  std::optional<leat::detail::frame_cache_bypass> uncached;
  if (memory_.is_enabled()) {
    memory_.require_failing_new();
    uncached.emplace();
  }
  const std::ptrdiff_t frames = leat::detail::live_frames();
  leat::detail::root_scope scope("sim::run");
  scope.spawn_on(*threads_[0], b(*this), "body", std::source_location::current());
  try {
    drive();
    if (const std::ptrdiff_t left = leat::detail::live_frames() - frames;
        checks_frames_ && left != 0) {
      throw invariant_violation(std::to_string(left) +
                                " coroutine frames still exist at the end of the run");
    }
  } catch (...) {
    unwind(std::current_exception());
    throw;
  }
  scope.rethrow_error();
}

// Ends the remaining tasks, so that the process can continue.
void world::unwind(const std::exception_ptr& failure) {
  clear_invariants();
  memory_.end();
  preempting_ = false;
  std::uint64_t left = max_idle_turns;
  const auto stop_all = [&] {
    bool any = false;
    for (const auto& t : threads_) any = leat::detail::scope_registry::stop_scopes_on(*t) || any;
    return any;
  };
  for (const auto& t : turns_) {
    if (t->is_suspended()) t->resume(0);
  }
  while (live_tasks() > 0 && stop_all()) {
    while (left > 0 && live_tasks() > 0 && (step() || advance())) --left;
  }
  violation_.clear();
  preempting_ = true;
  if (live_tasks() == 0) return;
  leat::detail::print_stderr(
      "leat: simulated world of seed %llu failed: %s\n"
      "leat: a stop request did not end it: %s",
      static_cast<unsigned long long>(seed_), leat::detail::error_message(failure).c_str(),
      describe_live_tasks().c_str());
  std::abort();
}

std::string world::describe_live_tasks() const {
  std::vector<const scheduler*> driven;
  for (const auto& t : threads_) driven.push_back(t.get());
  return leat::detail::describe_live_tasks(live_tasks(), driven);
}

void run(std::uint64_t seed, const world::body& b, const world_options& options) {
  world(seed, options).run(b);
}

}  // namespace LEAT::sim
