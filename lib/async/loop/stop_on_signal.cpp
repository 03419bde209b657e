#include "leat/async/loop/stop_on_signal.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include "async/loop/signal_set_counts.hpp"
#include "base/internal/held_during_fork.hpp"
#include "leat/async/loop/detail/signal_receiver.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(signal_set.hpp)

namespace LEAT {
namespace signal_guards {
namespace {

using detail::signal_set_counts;

// A signal goes through these steps:
//
// 1. handle() stores it in the slot of each guard that handles it and has none yet, and writes to
//    the eventfd of the guard. A guard accepts one signal; the second one has its default effect.
// 2. The event loop runs the guard, on its scheduler, and the guard requests the stop.
//
// `seen` tells whether a signal may be forgotten: a guard that is destroyed between the two steps
// raises the signal again, so that it is not lost.
//
// Lock order: `mutex`, then the lock of Asio's signal sets. The handler takes neither.

// A guard as the signal handler sees it. All accesses are sequentially consistent: either the
// handler sees that the slot is free, or the guard's destructor sees the handler.
struct slot {
  std::atomic<int> event{0};              // the eventfd, plus 1; 0: the slot is free
  std::atomic<std::uint64_t> signals{0};  // bit n - 1: handles signal n
  std::atomic<int> received{0};           // the first signal
  std::atomic<bool> seen{false};          // the program knows of it, or a signal_set received it
  std::atomic<pid_t> process{0};          // that constructed the guard: a child of fork() did not
};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "used in a signal handler");
static_assert(NSIG <= 65, "signals fit into the bits of a slot");

constinit std::array<slot, 32> slots{};
constinit std::atomic<int> handlers_inside{0};

// The thread that forks is not inside a handler, and a child of fork() has no other thread.
[[maybe_unused]] const int handlers_registered =
    ::pthread_atfork(nullptr, nullptr, [] { handlers_inside.store(0); });

// Under the mutex: how many guards handle a signal, and its action before the first one.
struct installed {
  int guards = 0;
  bool ignored = false;
  bool was_in_signal_set = false;  // so that the action before belongs to Asio
  struct sigaction before{};
};
constinit std::mutex mutex;
[[maybe_unused]] const int mutex_registered = detail::held_during_fork<mutex>();
std::array<installed, NSIG> actions{};

// True for a signal whose last guard has left it to signal sets: a handler that begins later on
// another thread, although the guard has removed it, leaves its signal to them too.
constinit std::array<std::atomic<bool>, NSIG> is_left_to_sets{};

std::uint64_t signal_bit(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

// Async-signal-safe.
void write_event(int event) noexcept {
  const std::uint64_t one = 1;
  const int before = errno;
  while (::write(event, &one, sizeof one) < 0 && errno == EINTR) {
  }
  errno = before;
}

// Async-signal-safe. The signal is blocked in its handler, and so delivered when that returns.
void raise_with_default_action(int signal) noexcept {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
}

// True if an asio::signal_set receives the signal too. Any other handler that was installed earlier
// would not expect a program that continues.
bool is_in_signal_set(int signal) noexcept {
  return is_left_to_sets[static_cast<std::size_t>(signal)].load() ||
         signal_set_counts::read_in_handler(signal) > 1;  // 1: the guards
}

void handle(int signal) noexcept {
  handlers_inside.fetch_add(1);
  const pid_t here = ::getpid();
  const bool in_signal_set = is_in_signal_set(signal);
  bool accepted = false;
  for (slot& s : slots) {
    const int event = s.event.load();
    if (event == 0 || (s.signals.load() & signal_bit(signal)) == 0 || s.process.load() != here)
      continue;
    int none = 0;
    // The slot keeps its first signal until the guard is destroyed.
    if (!s.received.compare_exchange_strong(none, signal)) continue;
    if (in_signal_set) s.seen.store(true);
    write_event(event - 1);
    accepted = true;
  }
  // The last access to a slot or an eventfd.
  handlers_inside.fetch_sub(1);
  if (in_signal_set) {
    signal_set_counts::handler(signal);
  } else if (!accepted) {
    raise_with_default_action(signal);
  }
}

bool is_fault_signal(int signal) noexcept {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS;
}

void check(std::span<const int> signals) {
  if (signals.empty()) {
    throw failure(errc::invalid_argument,
                  "stop_on_signal: no signals: pass at least one, such as SIGTERM");
  }
  for (const int signal : signals) {
    if (signal >= 1 && signal < NSIG && !is_fault_signal(signal)) continue;
    throw failure(errc::invalid_argument, "stop_on_signal: signal " + std::to_string(signal) +
                                              " cannot request a stop: use SIGINT or SIGTERM");
  }
}

using signal_function = void (*)(int);

struct sigaction make_action(signal_function handler) noexcept {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  return action;
}

void wait_for_handlers() noexcept {
  while (handlers_inside.load() != 0) std::this_thread::yield();
}

// Under the mutex.
void install(int signal) {
  installed& entry = actions[static_cast<std::size_t>(signal)];
  if (entry.guards == 0) {
    signal_set_counts sets;
    const struct sigaction action = make_action(&handle);
    if (::sigaction(signal, nullptr, &entry.before) != 0) {
      throw failure(std::error_code(errno, std::generic_category()),
                    "stop_on_signal: cannot read the action of signal " + std::to_string(signal));
    }
    entry.ignored = entry.before.sa_handler == SIG_IGN;
    entry.was_in_signal_set = sets.read(signal) > 0;
    if (!entry.ignored) {
      // Counted before the handler is installed, which may run at once and compares the number with
      // 1.
      sets.increment(signal);
      is_left_to_sets[static_cast<std::size_t>(signal)].store(false);
      if (::sigaction(signal, &action, nullptr) != 0) {
        const int error = errno;
        sets.decrement(signal);
        throw failure(std::error_code(error, std::generic_category()),
                      "stop_on_signal: cannot handle signal " + std::to_string(signal));
      }
    }
  }
  ++entry.guards;
}

// The action after the last guard: signal sets may have been added or destroyed meanwhile.
struct sigaction next_action(const installed& entry, bool in_signal_set) noexcept {
  if (entry.was_in_signal_set == in_signal_set) return entry.before;
  return make_action(in_signal_set ? signal_set_counts::handler : SIG_DFL);
}

// Under the mutex.
void uninstall(int signal) noexcept {
  installed& entry = actions[static_cast<std::size_t>(signal)];
  if (--entry.guards > 0 || entry.ignored) return;
  signal_set_counts sets;
  // More than the one that install() has counted.
  const bool in_signal_set = sets.read(signal) > 1;
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  if (now.sa_handler == &handle) {
    const struct sigaction next = next_action(entry, in_signal_set);
    ::sigaction(signal, &next, nullptr);
  }
  is_left_to_sets[static_cast<std::size_t>(signal)].store(in_signal_set);
  wait_for_handlers();  // they read the number of sets
  sets.decrement(signal);
}

void uninstall_all(std::uint64_t signals) noexcept {
  for (int signal = 1; signal < NSIG; ++signal) {
    if ((signals & signal_bit(signal)) != 0) uninstall(signal);
  }
}

slot& take_slot(int event, std::span<const int> signals) {
  const std::lock_guard lock(mutex);
  for (slot& s : slots) {
    if (s.event.load() != 0) continue;
    s.signals.store(0);
    s.received.store(0);
    s.seen.store(false);
    s.process.store(::getpid());
    // After the other fields: handlers skip a slot without an event.
    s.event.store(event + 1);
    try {
      for (const int signal : signals) {
        if ((s.signals.load() & signal_bit(signal)) != 0) continue;  // listed twice
        s.signals.fetch_or(signal_bit(signal));  // before its handler is installed
        try {
          install(signal);
        } catch (...) {
          s.signals.fetch_and(~signal_bit(signal));
          throw;
        }
      }
    } catch (...) {
      uninstall_all(s.signals.load());
      s.event.store(0);
      wait_for_handlers();
      throw;
    }
    return s;
  }
  throw failure(errc::resource_exhausted,
                "stop_on_signal: limit of 32 guards reached: destroy one first");
}

// The handlers are removed first: a signal in between has its earlier effect. Returns the signal
// that the guard has received if the program does not know of it, and 0 otherwise.
[[nodiscard]] int free_slot(slot& s) noexcept {
  const std::lock_guard lock(mutex);
  // After wait_for_handlers(), no handler uses the eventfd, so the caller may close it.
  uninstall_all(s.signals.load());
  s.event.store(0);
  wait_for_handlers();
  const int signal = s.received.load();
  if (signal == 0 || s.seen.load()) return 0;
  for (const slot& other : slots) {
    if (other.event.load() != 0 && other.received.load() == signal) return 0;
  }
  return signal;
}

// The program knows of the signal: also the guards that have received the same one need not pass it
// on.
void set_seen(int signal) noexcept {
  for (slot& s : slots) {
    if (s.event.load() != 0 && s.received.load() == signal) s.seen.store(true);
  }
}

}  // namespace
}  // namespace signal_guards

class stop_on_signal::state {
 public:
  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  [[nodiscard]] virtual int signal() const noexcept = 0;
  // The guard was destroyed.
  virtual void abandon() noexcept = 0;

 protected:
  ~state() = default;
};

// ------------------------------------------------------------------------------------ in a process

// Waits for the eventfd. The wait cannot be withdrawn, so a guard that is destroyed first writes to
// the eventfd itself, and the state deletes itself when the scheduler runs it.
class stop_on_signal::process_state final : public state,
                                            private work_item,
                                            private detail::listening_object {
 public:
  process_state(detail::event_loop_scheduler& sched, void* scope, stop_function stop,
                std::span<const int> signals)
      : scheduler_(&sched),
        scope_(scope),
        stop_(stop),
        listener_(sched.make_listener()),
        slot_(&signal_guards::take_slot(listener_->descriptor(), signals)) {
    run_ = [](work_item& item) noexcept { static_cast<process_state&>(item).run(); };
    listener_->listen(*this);
    sched.add(*this);
  }

  [[nodiscard]] int signal() const noexcept override {
    const int received = slot_ ? slot_->received.load() : received_;
    if (received != 0) {
      signal_guards::set_seen(received);
      unseen_.store(0);
    }
    return received;
  }

  void abandon() noexcept override {
    // A child of fork() shares the eventfd with its parent, and runs none of its schedulers.
    if (process_ != ::getpid()) return;
    const int unseen =
        slot_ ? signal_guards::free_slot(*std::exchange(slot_, nullptr)) : unseen_.load();
    end();
    if (unseen != 0) ::raise(unseen);  // for the next guard, or with its earlier effect
  }

 private:
  ~process_state() = default;

  void end() noexcept {
    if (done_ || !scheduler_) {
      if (scheduler_) scheduler_->remove(*this);
      delete this;
      return;
    }
    abandoned_ = true;
    scheduler_->work_started();  // an embedded loop runs until this has been deleted
    signal_guards::write_event(listener_->descriptor());
  }

  void run() noexcept {
    if (abandoned_) {
      scheduler_->remove(*this);
      delete_abandoned();
    } else if (slot_->received.load() != 0) {
      done_ = true;
      signal_guards::set_seen(slot_->received.load());
      stop_(scope_);  // may end the task that owns the guard, but not within this call
    } else if (!scheduler_->is_ending()) {
      listener_->listen(*this);
    }
  }

  // The guard lives on without a scheduler, and its signals have their earlier effect.
  void on_scheduler_end() noexcept override {
    if (abandoned_) {
      delete_abandoned();
      return;
    }
    if (process_ == ::getpid()) {
      received_ = slot_->received.load();
      unseen_ = signal_guards::free_slot(*std::exchange(slot_, nullptr));
    }
    listener_.reset();
    scheduler_ = nullptr;
  }

  void delete_abandoned() noexcept {
    scheduler& sched = *scheduler_;
    delete this;
    sched.work_finished();
  }

  detail::event_loop_scheduler* scheduler_;  // null after it is destroyed
  void* const scope_;
  const stop_function stop_;
  const pid_t process_ = ::getpid();
  std::unique_ptr<detail::event_listener> listener_;
  signal_guards::slot* slot_;           // null after it is freed
  int received_ = 0;                    // from then on
  mutable std::atomic<int> unseen_{0};  // and whether the program knows of it
  bool done_ = false;                   // the stop was requested: nothing is awaited any more
  bool abandoned_ = false;              // the guard was destroyed
};

// --------------------------------------------------------------------------------- in a simulation

class stop_on_signal::simulated_state final : public state,
                                              private detail::signal_receiver,
                                              private work_item {
 public:
  simulated_state(scheduler& sched, process_environment& process, void* scope, stop_function stop,
                  std::span<const int> signals) noexcept
      : signal_receiver(process), scheduler_(sched), scope_(scope), stop_(stop) {
    for (const int signal : signals) signals_ |= signal_guards::signal_bit(signal);
    run_ = [](work_item& item) noexcept { static_cast<simulated_state&>(item).run(); };
  }

  [[nodiscard]] int signal() const noexcept override {
    if (received_ != 0) set_seen(received_);
    return received_;
  }

  // As in a process, see signal_guards: a signal of which the program does not know is passed on.
  void abandon() noexcept override {
    const int unseen = seen_ || is_received_elsewhere() ? 0 : received_;
    process_environment& all = process();
    abandoned_ = true;
    if (!under_way_) delete this;
    if (unseen != 0) static_cast<void>(all.raise(unseen));
  }

 private:
  ~simulated_state() = default;

  void set_seen(int signal) const noexcept {
    for (signal_receiver* r = first(); r; r = next(*r)) {
      auto& guard = static_cast<simulated_state&>(*r);
      if (guard.received_ == signal) guard.seen_ = true;
    }
  }
  [[nodiscard]] bool is_received_elsewhere() const noexcept {
    for (signal_receiver* r = first(); r; r = next(*r)) {
      const auto& guard = static_cast<const simulated_state&>(*r);
      if (&guard != this && !guard.abandoned_ && guard.received_ == received_) return true;
    }
    return false;
  }

  [[nodiscard]] bool receive(int signal) noexcept override {
    if (abandoned_ || received_ != 0 || (signals_ & signal_guards::signal_bit(signal)) == 0) {
      return false;
    }
    received_ = signal;
    under_way_ = true;
    scheduler_.post(*this);
    return true;
  }

  void run() noexcept {
    under_way_ = false;
    if (abandoned_) {
      delete this;
    } else {
      set_seen(received_);
      stop_(scope_);
    }
  }

  scheduler& scheduler_;
  void* const scope_;
  const stop_function stop_;
  std::uint64_t signals_ = 0;
  int received_ = 0;
  mutable bool seen_ = false;  // the program knows of the signal
  bool under_way_ = false;     // the item was posted
  bool abandoned_ = false;     // the guard was destroyed
};

// ------------------------------------------------------------------------------------- the guard

stop_on_signal::stop_on_signal(scheduler* sched, void* scope, stop_function stop,
                               std::span<const int> signals) {
  signal_guards::check(signals);
  if (!sched) {
    throw failure(errc::failed_precondition,
                  "stop_on_signal: no scheduler on this thread: construct the guard in a task, or "
                  "pass the scheduler");
  }
  if (auto* const loop = dynamic_cast<detail::event_loop_scheduler*>(sched)) {
    state_ = new process_state(*loop, scope, stop, signals);
  } else if (auto* const process = sched->find_service<process_environment>()) {
    state_ = new simulated_state(*sched, *process, scope, stop, signals);
  }
}

stop_on_signal::~stop_on_signal() {
  if (state_) state_->abandon();
}

int stop_on_signal::signal() const noexcept { return state_ ? state_->signal() : 0; }

}  // namespace LEAT
