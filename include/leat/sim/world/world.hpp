#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/random.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "leat/sim/virtual_scheduler.hpp"

namespace leat::sim {

class simulated_turn;

/// An invariant did not hold. what() names it and the step.
class invariant_violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A run went on for more steps than any sensible one.
class step_limit_exceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What becomes of the lines of a schedule.
struct trace_options {
  /// Lines that are kept from the beginning, and as many at least of the end; others are counted.
  std::size_t ends = SIZE_MAX;
  /// Each line is also written here before its step is run, so that it is seen whatever the step
  /// does; what is known behind it only, such as a pre-emption, on a line of its own.
  std::FILE* to = nullptr;
};

/// What a world is made of.
struct world_options {
  std::size_t threads = 1;         ///< simulated threads, each with a scheduler
  file_system_options files = {};  ///< size and faults of the file system
  memory_options memory = {};      ///< allocations of the program that fail
  /// How often a simulated thread is pre-empted between two suspension points, at a lock, while
  /// others run: probability for each step. Only where there are several threads.
  double preemption = 0.1;
  /// How often the clock on the wall is set, by up to an hour forward or back: probability each
  /// time that time moves. Timers do not notice.
  double wall_jump = 0;
  /// Besides, each such time of these, counted from 1: see world::time_advances().
  std::optional<std::uint64_t> wall_jump_plan = {};
  std::uint64_t max_steps = 5'000'000;  ///< a longer run is a step_limit_exceeded
};

/// A program's whole surroundings, made of a seed: threads, time, files, random numbers.
///
/// Everything runs on one real thread, one step after the other; which of the simulated threads
/// goes on, and with which of its ready tasks, where it is pre-empted, when an operation of the
/// file system completes and how, is up to a decision_source. Time moves only when nothing can run,
/// and then jumps. So a run is a pure function of its seed, a minute of waiting takes no time, and
/// a wait for what cannot come is a deadlock at once.
///
///     leat::sim::run(17, [](leat::sim::world& w) -> leat::task<> {
///       w.files().write_file("/in", "some lines\n");
///       co_await my_service("/in");
///     });
///
/// What the program does must not depend on anything else: real time, addresses, other threads.
/// With several threads it must not call leat while it holds a lock of its own, such as a
/// std::mutex: the thread may be pre-empted there, and to that lock all are one thread. Where it
/// has to, set preemption to 0.
///
/// Thread safety: none; a world belongs to the thread that runs it.
class world {
 public:
  using body = std::function<task<void>(world&)>;

  explicit world(std::uint64_t seed, const world_options& options = {});

  /// A world that decides as another one did; see decision_source.
  world(std::vector<std::uint32_t> script, std::uint64_t seed, const world_options& options = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();

  // ---- What the program finds.

  /// The seed of the random numbers, and of the decisions unless a script was given.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  [[nodiscard]] std::size_t threads() const noexcept { return threads_.size(); }

  /// The scheduler of a simulated thread; the body runs on the one of thread 0.
  [[nodiscard]] scheduler& thread(std::size_t i) noexcept { return *threads_[i]; }

  [[nodiscard]] file_system& files() noexcept { return files_; }

  /// Allocations of the program that were made, and that failed. Counted where some may fail.
  [[nodiscard]] const allocation_faults& memory() const noexcept { return memory_; }

  /// Random numbers for the program itself, of the world's seed.
  [[nodiscard]] random_engine& random() noexcept { return random_; }

  /// The decisions of the world, also for a program that wants to take part in them.
  [[nodiscard]] decision_source& decisions() noexcept { return decisions_; }

  /// Virtual time; begins at time_point{}.
  [[nodiscard]] time_point now() const noexcept { return now_; }

  /// The time on the wall, which may jump; begins at 2000-01-01 00:00 UTC. What tasks find as
  /// scheduler::wall_time(), and files as their times.
  [[nodiscard]] wall_time_point wall_clock() const noexcept;
  /// Sets the clock on the wall forward, or back. Timers do not notice.
  void jump_wall_clock(std::chrono::nanoseconds by) noexcept;

  /// As which process the program goes on: another one, say, after a crash. See
  /// scheduler::identity().
  void set_identity(const process_identity& identity);

  /// Delivers a signal to the world's process: the guards of type stop_on_signal on its threads
  /// stop their scopes, in a turn that the world chooses. False: there is no guard for the signal
  /// that has not received one yet. A real signal would have its default effect then, which is
  /// usually to terminate the process.
  ///
  /// Call it from the body, from one of its tasks or between runs.
  /// Precondition: `signal` is the number of a signal.
  [[nodiscard]] bool raise(int signal) noexcept;

  // ---- What must hold.

  /// Asks after each step whether `holds`. The name appears in the violation.
  void always(std::string name, std::function<bool()> holds);

  /// Asks whenever nothing can run: before time moves, and at the end.
  void when_quiet(std::string name, std::function<bool()> holds);

  /// A number that never falls. Asked after each step.
  void never_falls(std::string name, std::function<std::uint64_t()> value);

  /// What a checkpoint has reached: it never falls, and is never ahead of what was acknowledged.
  void watermark(const std::string& name, std::function<std::uint64_t()> reached,
                 std::function<std::uint64_t()> acknowledged);

  /// What every queue keeps to: no more items, and no more weight, than it may hold and batches
  /// gave back, no item lost or doubled inside, its minimum while it is open, and whenever nothing
  /// can run nobody waits for what is there, nor at all once it is closed. For the life of the
  /// world or until clear_invariants(), as are all invariants; of a queue that goes before, see
  /// scoped().
  ///
  /// Inside means: what went in is in the storage, with a batch that waits, or has been given out.
  /// That who got it has got it, and has not got it twice, a delivery_log tells.
  template <class Queue>
    requires requires(const Queue& q) { q.statistics().waiting_pops; }
  void add_invariants(const Queue& q) {
    const allocation_faults::without_faults own;
    const std::string name = "queue '" + std::string(q.name()) + "'";
    always(name + " holds no more than its capacity", [&q] {
      const auto s = q.statistics();
      return s.size <= s.capacity || s.size - s.capacity <= s.returned;
    });
    always(name + " loses and doubles no item", [&q] {
      const auto s = q.statistics();
      return s.pushed == s.popped + s.size + s.held;
    });
    always(name + " weighs no more than its maximum", [&q] {
      const auto s = q.statistics();
      return s.weight <= s.max_weight || s.weight - s.max_weight <= s.returned_weight;
    });
    always(name + " keeps its minimum while it is open, unless it weighs", [&q] {
      const auto s = q.statistics();
      return s.closed || s.popped == 0 || s.weighed || s.popped + s.min_after_dequeue <= s.pushed;
    });
    when_quiet(name + " lets nobody wait for what is there", [&q] {
      const auto s = q.statistics();
      return (s.waiting_pops == 0 || s.size < s.min_after_dequeue + s.awaited) &&
             (s.waiting_pushes == 0 || s.size >= s.capacity || s.waits_for_budget ||
              s.weight > s.max_weight - s.entering_weight);
    });
    when_quiet(name + " lets nobody wait once it is closed", [&q] {
      const auto s = q.statistics();
      return !s.closed || (s.waiting_pops == 0 && s.waiting_pushes == 0);
    });
  }

  /// What every memory budget keeps to: no more than its limit is stored, but for what batches gave
  /// back, and whenever nothing can run nobody waits for what is there.
  template <class Budget>
    requires requires(const Budget& b) { b.statistics().used; }
  void add_invariants(const Budget& b) {
    const allocation_faults::without_faults own;
    const std::string name = "budget '" + std::string(b.name()) + "'";
    always(name + " is never exceeded", [&b] {
      const auto s = b.statistics();
      return s.used <= s.limit || s.used - s.limit <= s.returned;
    });
    when_quiet(name + " lets nobody wait for what is there", [&b] {
      const auto s = b.statistics();
      return s.waiting == 0 || s.used > s.limit || s.awaited > s.limit - s.used;
    });
  }

  /// What every coordinator keeps to: the error that stopped it stays the one that
  /// raise_requested_exception() throws. Whether join() throws it too, see where you join.
  template <class Coordinator>
    requires requires(const Coordinator& c) { c.raise_requested_exception(); }
  void add_invariants(const Coordinator& c) {
    const allocation_faults::without_faults own;
    const auto error = [&c]() -> std::exception_ptr {
      try {
        c.raise_requested_exception();
      } catch (...) {
        return std::current_exception();
      }
      return nullptr;
    };
    when_quiet("coordinator '" + c.name() + "' keeps its first error",
               [&c, error, first = std::optional<std::exception_ptr>()]() mutable {
                 if (!c.should_stop()) {
                   first.reset();  // anew after a clear_stop()
                   return true;
                 }
                 if (!first) first = error();
                 return *first == error();
               });
  }

  /// When a run has ended no coroutine frame of leat that it has made is alive. For the life of the
  /// world.
  void check_frames() noexcept { checks_frames_ = true; }

  /// Drops all invariants that were added.
  void clear_invariants() noexcept;

  /// Invariants that end with a scope: see scoped().
  class [[nodiscard]] invariant_scope {
   public:
    ~invariant_scope() { world_.drop(first_, last_); }
    invariant_scope(const invariant_scope&) = delete;
    invariant_scope& operator=(const invariant_scope&) = delete;

   private:
    friend class world;
    invariant_scope(world& w, std::uint64_t first, std::uint64_t last) noexcept
        : world_(w), first_(first), last_(last) {}

    world& world_;
    const std::uint64_t first_;
    const std::uint64_t last_;
  };

  /// What `add` adds is dropped when what this gives is destroyed. For what the body itself owns:
  /// behind its end, whatever it ends by, nobody asks any more.
  ///
  ///     leat::fifo_queue<int> q(2, "q");
  ///     const auto invariants = w.scoped([&] { w.add_invariants(q); });
  template <class Add>
  invariant_scope scoped(Add add) {
    const std::uint64_t first = added_;
    add();
    return invariant_scope(*this, first, added_);
  }

  /// Reports a violation of an invariant of the program's own.
  void report_violation(std::string sentence);

  // ---- Running.

  /// Runs the body to its end, and all that it has started. Can be called again: files and time go
  /// on.
  ///
  /// Errors: what the body throws; deadlock; invariant_violation; step_limit_exceeded. After one of
  ///         these, the tasks were asked to stop and have finished; if they do not finish, the
  ///         process is terminated. std::logic_error if allocations are to fail but the program
  ///         does not include leat/sim/failing_new.hpp.
  void run(const body& b);

  /// Steps so far: tasks resumed, operations completed.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  /// Keeps a line for each step from now on.
  void trace(const trace_options& options = {});

  /// How often time has moved so far: what world_options::wall_jump_plan counts.
  [[nodiscard]] std::uint64_t time_advances() const noexcept { return time_advances_; }

  /// The lines, one step each: when, where, what. Where some were left out one says how many.
  [[nodiscard]] const std::vector<std::string>& schedule() const noexcept { return schedule_; }

 private:
  struct invariant {
    std::uint64_t number;  // in the order in which they were added
    std::string name;
    std::function<bool()> holds;
  };

  world(decision_source c, std::uint64_t seed, const world_options& options);
  bool step();
  [[nodiscard]] std::size_t ready_count(std::size_t thread);
  [[nodiscard]] bool any_preempted() const noexcept;
  [[nodiscard]] unsigned choose_preemption_point();
  void run_thread(std::size_t thread, std::size_t item);
  void complete(std::size_t index);
  void check(const std::vector<invariant>& all);
  bool advance();
  void set_wall_clock();
  void set_file_clock() noexcept;
  [[nodiscard]] std::size_t live_tasks() const noexcept;
  void run_until_quiet();
  void drive();
  void unwind(const std::exception_ptr& failure);
  [[nodiscard]] std::string describe_live_tasks() const;
  void drop(std::uint64_t first, std::uint64_t last) noexcept;
  void add_to_trace(const std::string& where, const std::string& what);
  void append_to_trace(const std::string& what);

  const std::uint64_t seed_;
  const world_options options_;
  decision_source decisions_;
  random_engine random_;
  allocation_faults memory_;
  file_system files_;
  std::vector<std::unique_ptr<virtual_scheduler>> threads_;
  std::vector<std::unique_ptr<simulated_turn>> turns_;  // of each thread
  bool preempting_ = true;
  time_point now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t time_advances_ = 0;
  std::vector<std::size_t> ready_;  // ready items of each thread; last: of the files
  std::size_t last_ = 0;            // index in ready_ of the last step
  std::vector<invariant> always_;
  std::vector<invariant> when_quiet_;
  std::uint64_t added_ = 0;  // invariants, ever
  std::string violation_;
  bool checks_frames_ = false;
  bool tracing_ = false;
  trace_options trace_;
  std::vector<std::string> schedule_;
  std::uint64_t left_out_ = 0;  // lines between the ends of the schedule
};

/// Runs a program in a world made of a seed. Errors: as world::run().
void run(std::uint64_t seed, const world::body& b, const world_options& options = {});

}  // namespace leat::sim
