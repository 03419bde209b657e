#include "sim/world/step_engine.hpp"

#include <algorithm>
#include <utility>

#include "async/internal/live_tasks_text.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::sim {

// Allocations fail only within run_program(). Functions of the simulation that the program calls
// begin with `without_faults`, so that their own allocations neither count nor fail.

void step_engine::add_thread(simulated_thread& t) {
  threads_.push_back(&t);
  ready_.resize(threads_.size() + parts_.size());
}

void step_engine::add_part(world_part& part, std::string name) {
  parts_.push_back({&part, std::move(name)});
  ready_.resize(threads_.size() + parts_.size());
}

void step_engine::note(const std::string& where, const std::string& what) {
  if (log_.is_started()) log_.add(steps_, now_, where, what);
}

bool step_engine::any_preempted() const noexcept {
  return std::ranges::any_of(threads_, [](const auto* t) { return t->turn.is_suspended(); });
}

void step_engine::end_preemption() {
  preempting_ = false;
  for (simulated_thread* const t : threads_) t->finish_turn();
}

// Returns the preemption point at which the next turn is pre-empted; 0: none.
unsigned step_engine::choose_preemption_point() {
  if (!preempting_ || threads_.size() < 2) return 0;
  if (!decisions_.chance(preemption_, "pre-empted?")) return 0;
  constexpr std::size_t points = 12;  // about as many as an item reaches
  return 1 + decisions_.choose(points, "preemption point");
}

// Runs a step of the program. Its line in the schedule is printed before, as the step may end the
// process.
template <class Describe, class Step>
void step_engine::run_program(simulated_thread& t, Describe describe, Step run) {
  const bool traced = log_.is_started();  // the program may begin to trace within this step
  if (traced) log_.add(steps_, now_, t.name(), describe());
  const std::uint64_t line = log_.count();
  const std::size_t failed = memory_.failed().size();
  // Texts of steps that were not traced are discarded.
  if (traced || steps_ % 256 == 0) static_cast<void>(take_fault_text());
  t.changed();
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
  if (t.turn.is_suspended()) suffix += ", pre-empted at a lock";
  log_.append(steps_, now_, t.name(), suffix, line);
}

void step_engine::run_thread(simulated_thread& t, std::size_t item) {
  const unsigned point = choose_preemption_point();
  if (t.turn.is_suspended()) {
    run_program(t, [] { return "resumes where it was pre-empted"; }, [&] { t.turn.resume(point); });
  } else {
    run_program(t, [&] { return t.sched.describe(item); }, [&] { t.turn.run(item, point); });
  }
}

// As in a turn, the timers of a thread expire in their order. Items may run between two of them,
// because in reality the second one is due a moment later. If the second one was set at this time,
// it may also be due a moment earlier.
void step_engine::expire_timer(simulated_thread& t, std::size_t index) {
  run_program(
      t, [&] { return t.sched.describe_timer(index); }, [&] { t.sched.expire_timer(index); });
}

void step_engine::complete(entry& e, std::size_t index) {
  const std::string what = e.part->complete(index);
  e.asked = no_deadline;
  note(e.name, what);
}

std::string step_engine::take_fault_text() {
  std::string text;
  for (const entry& e : parts_) text += e.part->take_fault_text();
  return text;
}

std::size_t step_engine::due(entry& e) const {
  if (e.part->take_changed() || e.asked != now_) {
    e.due = e.part->due(now_);
    e.asked = now_;
  }
  return e.due;
}

bool step_engine::step() {
  const std::size_t threads = threads_.size();
  const std::size_t sources = threads + parts_.size();
  std::size_t all = 0;
  std::size_t timers = 0;  // that may expire next
  for (std::size_t i = 0; i < threads; ++i) {
    all += ready_[i] = threads_[i]->ready();
    timers += threads_[i]->due_timers();
  }
  for (std::size_t i = threads; i < sources; ++i) all += ready_[i] = due(parts_[i - threads]);
  if (all + timers == 0) return false;
  decisions_.begin_step(++steps_);
  // The default is to expire the timers, and then to take turns, so that every source runs.
  std::size_t chosen = decisions_.choose(all + timers, "next to run");
  if (chosen < timers) {
    std::size_t thread = 0;
    while (chosen >= threads_[thread]->due_timers()) chosen -= threads_[thread++]->due_timers();
    expire_timer(*threads_[thread], chosen);
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
    run_thread(*threads_[source], chosen);
  } else {
    complete(parts_[source - threads], chosen);
  }
  return true;
}

bool step_engine::advance() {
  LEAT_ASSERT(!any_preempted(), "time advanced while a pre-empted thread can run");
  time_point next = no_deadline;
  for (const entry& e : parts_) next = std::min(next, e.part->next_completion());
  for (const simulated_thread* const t : threads_) {
    next = std::min(next, t->next_event());
  }
  if (next == no_deadline) return false;
  now_ = std::max(now_, next);
  clock_changed();
  return true;
}

void step_engine::clock_changed() noexcept {
  for (simulated_thread* const t : threads_) {
    t->sched.advance_to(t->clock().at(now_));
    t->changed();
  }
}

std::size_t step_engine::live_tasks() const noexcept {
  std::size_t sum = 0;
  for (const simulated_thread* const t : threads_) sum += t->sched.live_tasks();
  return sum;
}

std::string step_engine::describe_live_tasks() const {
  std::vector<const scheduler*> driven;
  for (const simulated_thread* const t : threads_) driven.push_back(&t->sched);
  return leat::detail::describe_live_tasks(live_tasks(), driven);
}

}  // namespace LEAT::sim
