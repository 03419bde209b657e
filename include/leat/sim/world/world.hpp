#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/random.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "leat/sim/network/network.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "leat/sim/world/host.hpp"
#include "leat/sim/world/world_options.hpp"
#include "leat/sim/world_part.hpp"

namespace LEAT::sim {

class step_engine;

/// The error of an invariant that did not hold. what() names the invariant and the step.
class invariant_violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The error of a run that took more steps than world_options::max_steps.
class step_limit_exceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The complete environment of a program, generated from a seed: threads, time, files, the network
/// and random numbers.
///
/// Everything runs on one real thread, one step after another. A decision_source decides which
/// simulated thread continues, which of its ready tasks runs and where the thread is pre-empted. It
/// decides whether a timer that is due expires before or after other steps, when and how an
/// operation of the file system completes, when and how the network delivers bytes, and when a
/// function of run_blocking() is called. Time
/// moves only when nothing can run, and then jumps. A run is therefore a pure function of its seed,
/// and a minute of waiting takes no time. A wait for an event that cannot happen is reported
/// immediately as a deadlock.
///
///     leat::sim::run(17, [](leat::sim::world& w) -> leat::task<> {
///       w.files().write_file("/in", "some lines\n");
///       co_await my_service("/in");
///     });
///
/// The program must not depend on anything else, such as real time, addresses or other threads.
/// With several simulated threads, it must not call leat while it holds a lock of its own, such as
/// a std::mutex. The simulated thread may be pre-empted in that call, and for the lock all
/// simulated threads are one thread. If the program has to do this, set preemption to 0.
///
/// Thread safety: none; a world belongs to the thread that runs it.
class world {
 public:
  /// The program that a world runs: a function that returns its main task.
  using body = std::function<task<void>(world&)>;

  explicit world(std::uint64_t seed, const world_options& options = {});

  /// Creates a world that repeats the decisions of another one; see decision_source.
  world(std::vector<std::uint32_t> script, std::uint64_t seed, const world_options& options = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();

  // ---- The environment of the program.

  /// Returns the seed of the random numbers and, unless a script was given, of the decisions.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Returns the number of simulated threads.
  [[nodiscard]] std::size_t threads() const noexcept { return local().threads(); }

  /// Returns the scheduler of a simulated thread. The body runs on the scheduler of thread 0.
  [[nodiscard]] scheduler& thread(std::size_t i) noexcept { return local().thread(i); }

  /// Returns the simulated file system, which all simulated threads share.
  [[nodiscard]] file_system& files() noexcept { return local().files(); }

  /// Returns the host "local", to which the members above belong.
  [[nodiscard]] host& local() const noexcept { return *hosts_.front(); }
  /// Adds a host, which exists until the end of the world.
  /// Errors: std::invalid_argument, if the name is empty, is an address or is taken.
  host& add_host(std::string name, const host_options& options = {});
  /// Returns the network, which all hosts share.
  [[nodiscard]] class network& network() noexcept { return network_; }

  /// Adds a part of the environment to this world, such as a simulated device: it is installed on
  /// all threads. It must outlive the world. Call it before run().
  void add_part(world_part& part);

  /// Returns the record of the program's allocations and failed allocations. They are counted only
  /// if allocations may fail.
  [[nodiscard]] const allocation_faults& memory() const noexcept { return memory_; }

  /// Returns the random numbers for the program itself, which are generated from the world's seed.
  [[nodiscard]] random_engine& random() noexcept { return random_; }

  /// Returns the decisions of the world. A program may also use them to make decisions of its own,
  /// which its schedule shows.
  [[nodiscard]] decision_source& decisions() noexcept { return program_decisions_; }

  /// Returns the virtual time, which starts at time_point{}.
  [[nodiscard]] time_point now() const noexcept;

  /// Returns the wall-clock time, which may jump. It starts at 2000-01-01 00:00 UTC. Tasks read it
  /// by scheduler::wall_time(), and the file system uses it for file times.
  [[nodiscard]] wall_time_point wall_clock() const noexcept { return local().process_.wall_time(); }
  /// Sets the wall clock forward or back. Timers are not affected.
  void jump_wall_clock(std::chrono::nanoseconds by) noexcept;

  /// Sets the process as which the program continues, for example another one after a crash. See
  /// scheduler::identity().
  void set_identity(const process_identity& identity) { local().process_.set_identity(identity); }

  /// Delivers a signal to the world's process: the stop_on_signal guards on its threads stop their
  /// scopes, in a turn that the world chooses. Returns true, or false if there is no guard for the
  /// signal or every such guard has already received one. In that case a real signal would have
  /// its default effect, which is usually to terminate the process.
  ///
  /// Call it from the body, from one of its tasks or between runs.
  /// Precondition: `signal` is the number of a signal.
  [[nodiscard]] bool raise(int signal) noexcept;

  /// Adds a line with `text` to the schedule, if it is recorded: an event of the program that
  /// explains a failure. Call it from the body, from one of its tasks or between runs.
  void note(std::string_view text);

  // ---- Invariants.

  /// Adds an invariant that is checked after each step. `name` appears in the violation.
  void always(std::string name, std::function<bool()> holds);

  /// Adds an invariant that is checked whenever nothing can run: before time moves, and at the end.
  void when_quiet(std::string name, std::function<bool()> holds);

  /// Adds the invariant that a number never decreases, which is checked after each step.
  void never_falls(std::string name, std::function<std::uint64_t()> value);

  /// Adds the invariants of the position that a checkpoint has reached: it never decreases, and
  /// never exceeds the acknowledged position.
  void watermark(const std::string& name, std::function<std::uint64_t()> reached,
                 std::function<std::uint64_t()> acknowledged);

  /// Adds the invariants of every queue:
  ///
  /// - It holds no more items and no more weight than its limits, except what batches returned.
  /// - It loses and duplicates no item inside: each item that was added is stored, is held by a
  ///   waiting batch or a provisional pop, or was removed.
  /// - It keeps its minimum size while it is open, unless it has a weight function.
  /// - Whenever nothing can run, no operation waits for items or capacity that are available.
  /// - Whenever nothing can run, no operation waits on a closed queue, except pops while another
  ///   pop is provisional.
  ///
  /// Use a delivery_log to check that consumers receive each item, and not twice. Like all
  /// invariants, these apply until clear_invariants() or the end of the world. If the queue is
  /// destroyed earlier, use scoped().
  template <class Queue>
    requires requires(const Queue& q) { q.statistics().waiting_pops; }
  void add_invariants(const Queue& q) {
    const allocation_faults::without_faults own;
    const std::string name = "queue '" + std::string(q.name()) + "'";
    always(name + " does not exceed its capacity", [&q] {
      const auto s = q.statistics();
      return s.size <= s.capacity || s.size - s.capacity <= s.returned;
    });
    always(name + " neither loses nor duplicates items", [&q] {
      const auto s = q.statistics();
      return s.pushed == s.popped + s.size + s.held && s.provisional_pops <= s.held;
    });
    always(name + " does not exceed its maximum weight", [&q] {
      const auto s = q.statistics();
      return s.weight <= s.max_weight || s.weight - s.max_weight <= s.returned_weight;
    });
    always(name + " keeps its minimum size while it is open, if it has no weight function", [&q] {
      const auto s = q.statistics();
      return s.closed || s.popped == 0 || s.weighed || s.popped + s.min_after_dequeue <= s.pushed;
    });
    when_quiet(name + " has no waiting operation that could complete", [&q] {
      const auto s = q.statistics();
      return (s.waiting_pops == 0 || s.size < s.min_after_dequeue + s.awaited) &&
             (s.waiting_pushes == 0 || s.size >= s.capacity || s.waits_for_budget ||
              s.weight > s.max_weight - s.entering_weight);
    });
    when_quiet(name + " has no waiting operation after close", [&q] {
      const auto s = q.statistics();
      const bool may_wait_for_end = s.provisional_pops > 0;
      return !s.closed || (s.waiting_pushes == 0 && (s.waiting_pops == 0 || may_wait_for_end));
    });
  }

  /// Adds the invariants of every memory budget. It stores no more than its limit, except what
  /// batches returned. Whenever nothing can run, no operation waits for memory that is available.
  template <class Budget>
    requires requires(const Budget& b) { b.statistics().used; }
  void add_invariants(const Budget& b) {
    const allocation_faults::without_faults own;
    const std::string name = "budget '" + std::string(b.name()) + "'";
    always(name + " does not exceed its limit", [&b] {
      const auto s = b.statistics();
      return s.used <= s.limit || s.used - s.limit <= s.returned;
    });
    when_quiet(name + " has no waiting operation that could complete", [&b] {
      const auto s = b.statistics();
      return s.waiting == 0 || s.used > s.limit || s.awaited > s.limit - s.used;
    });
  }

  /// Adds the invariant of every primitive, such as a semaphore: no operation waits although it
  /// could be served, and no permit is lost or duplicated.
  template <class Primitive>
    requires requires(const Primitive& p) { p.is_consistent(); }
  void add_invariants(const Primitive& p) {
    const allocation_faults::without_faults own;
    always("primitive '" + p.name() + "' serves each operation that can be served",
           [&p] { return p.is_consistent(); });
  }

  /// Adds the invariant of every coordinator: raise_requested_exception() always throws the error
  /// that stopped it. To check that join() throws this error as well, test the result of join().
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
    when_quiet("coordinator '" + std::string(c.name()) + "' keeps its first error",
               [&c, error, first = std::optional<std::exception_ptr>()]() mutable {
                 if (!c.should_stop()) {
                   first.reset();  // anew after a clear_stop()
                   return true;
                 }
                 if (!first) first = error();
                 return *first == error();
               });
  }

  /// Adds the check that no coroutine frame of leat that a run created is alive when the run has
  /// ended. It applies until the end of the world.
  void check_frames() noexcept { checks_frames_ = true; }

  /// Adds the check that the process of a host has closed its connections and listeners when it has
  /// ended by itself. It applies until the end of the world.
  void check_connections() noexcept { checks_connections_ = true; }

  /// Removes all invariants that were added.
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

  /// Calls `add` and returns a scope whose destruction removes the invariants that `add` has added.
  /// Use it for objects that the body itself owns, so that their invariants are not checked after
  /// the end of the body, by a return or an exception.
  ///
  ///     leat::fifo_queue<int> q(2, "q");
  ///     const auto invariants = w.scoped([&] { w.add_invariants(q); });
  template <class Add>
  invariant_scope scoped(Add add) {
    const std::uint64_t first = added_;
    add();
    return invariant_scope(*this, first, added_);
  }

  /// Reports a violation of one of the program's own invariants.
  void report_violation(std::string sentence);

  // ---- Running.

  /// Runs the body, and everything that it starts, to the end. It can be called again: files and
  /// time continue.
  ///
  /// Errors: exceptions of the body; deadlock; invariant_violation; step_limit_exceeded. After one
  ///         of these, the tasks have received a stop request and have finished. If they do not
  ///         finish, the process is terminated. std::logic_error if allocations are to fail but the
  ///         program does not include leat/sim/failing_new.hpp.
  void run(const body& b);

  /// Returns the number of steps so far: tasks resumed, timers expired and operations completed.
  [[nodiscard]] std::uint64_t steps() const noexcept;

  /// Records a line for each step from now on.
  void trace(const trace_options& options = {});

  /// Returns how often time has moved so far, to which world_options::wall_jump_plan refers.
  [[nodiscard]] std::uint64_t time_advances() const noexcept { return time_advances_; }

  /// Returns the lines of the schedule: one for each step, with its time, its thread and its
  /// action, and one for each note, signal, decision of the program and jump of the wall clock. If
  /// lines were left out, one line states how many.
  [[nodiscard]] const std::vector<std::string>& schedule() const noexcept;

 private:
  struct invariant {
    std::uint64_t number;  // in the order in which they were added
    std::string name;
    std::function<bool()> holds;
  };

  friend class host;
  world(decision_source c, std::uint64_t seed, const world_options& options);
  bool step();
  bool advance();
  void check(const std::vector<invariant>& all);
  void settle_hosts();
  void end_hosts();
  void set_wall_clock();
  void set_time_of_parts() noexcept;
  void run_until_quiet();
  void drive();
  void unwind(const std::exception_ptr& failure);
  void drop(std::uint64_t first, std::uint64_t last) noexcept;
  void trace_decision(const decision& d);

  const std::uint64_t seed_;
  const world_options options_;
  decision_source decisions_;
  decision_source program_decisions_;
  random_engine random_;
  allocation_faults memory_;
  std::unique_ptr<step_engine> engine_;
  class network network_;
  std::vector<std::unique_ptr<host>> hosts_;  // the first is "local"
  std::vector<world_part*> parts_;            // of all hosts, the network and the program
  std::uint64_t time_advances_ = 0;
  std::vector<invariant> always_;
  std::vector<invariant> when_quiet_;
  std::uint64_t added_ = 0;  // invariants, ever
  std::string violation_;
  bool checks_frames_ = false;
  bool checks_connections_ = false;
  bool hosts_changed_ = false;  // host::settle() may have something to do
};

/// Runs a program in a world that is generated from a seed.
///
/// Errors: those of world::run().
void run(std::uint64_t seed, const world::body& b, const world_options& options = {});

}  // namespace LEAT::sim
