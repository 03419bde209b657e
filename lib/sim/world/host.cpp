#include "leat/sim/world/host.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "async/internal/scope_registry.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/world/world.hpp"
#include "sim/world/host_clock.hpp"
#include "sim/world/host_process.hpp"
#include "sim/world/simulated_calls.hpp"
#include "sim/world/simulated_thread.hpp"
#include "sim/world/step_engine.hpp"

namespace LEAT::sim {

host::host(world& w, std::string name, const host_options& options)
    : world_(w),
      name_(std::move(name)),
      clock_(std::make_unique<host_clock>()),
      now_(w.now()),
      files_(w.decisions_, options.files,
             [&w](std::string sentence) { w.report_violation(std::move(sentence)); }),
      calls_(std::make_unique<simulated_call_part>(w.decisions_)),
      network_(&w.network_.add_host(name_)) {
  const bool is_local = w.hosts_.empty();
  for (std::size_t i = 0; i < std::max<std::size_t>(options.threads, 1); ++i) {
    const std::string number = std::to_string(i);
    threads_.push_back(std::make_unique<simulated_thread>(
        process_, *clock_, is_local ? "thread " + number : name_ + "/" + number));
    simulated_thread& t = *threads_.back();
    t.sched.advance_to(clock_->at(now_));
    w.engine_->add_thread(t);
    w.network_.install(t.sched, *network_);
    for (world_part* const part : w.parts_) part->install(t.sched);
    files_.install(t.sched);
    calls_->install(t.sched);
  }
  w.engine_->add_part(files_, is_local ? "files" : name_ + "/files");
  files_.set_time(now_, process_.wall_time());
}

host::~host() = default;

scheduler& host::thread(std::size_t i) noexcept { return threads_[i]->sched; }

std::string host::address() const { return network::address_of(*network_); }

// -------------------------------------------------------------------------------------- processes

void host::start(std::function<task<void>(host&)> main, const run_options& options) {
  const allocation_faults::without_faults own;
  LEAT_ASSERT(this != &world_.local(), "host 'local' has no process: it runs the body");
  LEAT_ASSERT(!is_running(), "host started although its process runs");
  if (is_off_) {
    files_.restart();
    clock_->restart(now_, clock_->at(now_) + std::chrono::hours(1));  // another value
    world_.engine_->clock_changed();
    world_.network_.set_power(*network_, true);
    is_off_ = false;
  }
  world_.network_.renew(*network_);
  process_.set_identity({name_, ++processes_});
  running_ = std::make_shared<host_process>(*this, std::move(main), options, world_.hosts_changed_);
  is_status_seen_ = false;
  running_->begin(thread(0));
  world_.engine_->note(name_, "process " + std::to_string(processes_) + " starts");
  world_.hosts_changed_ = true;
}

bool host::is_running() const noexcept { return running_ && !running_->status(); }

std::optional<int> host::exit_status() const noexcept {
  if (!running_) return std::nullopt;
  is_status_seen_ = true;
  return running_->status();
}

task<int> host::join() {
  if (!running_) throw failure(errc::failed_precondition, "host '" + name_ + "': not started");
  is_status_seen_ = true;
  const std::shared_ptr<host_process> process = running_;
  co_await process->ended().wait();
  co_return *process->status();
}

void host::throw_unseen_error() const {
  if (!running_ || !running_->error()) return;
  if (!std::exchange(is_status_seen_, true)) std::rethrow_exception(running_->error());
}

void host::raise(int signal) {
  const allocation_faults::without_faults own;
  if (this == &world_.local()) {
    static_cast<void>(world_.raise(signal));
    return;
  }
  if (!is_running()) return;
  const bool received = process_.raise(signal);
  world_.engine_->note(
      name_, "signal " + std::to_string(signal) + (received ? "" : ", received by no guard"));
  if (!received) request(change::terminate, 128 + signal);
}

void host::terminate() { request(change::terminate, 128 + SIGKILL); }

void host::stop_power() {
  LEAT_ASSERT(this != &world_.local(), "the power of host 'local' stopped: it runs the body");
  if (is_running()) {
    request(change::stop_power, 128 + SIGKILL);
  } else if (!is_off_) {
    kill(true);
  }
}

void host::pause(time_span lasts) {
  if (requested_ != change::none) return;  // it ends
  pause_ = std::clamp<duration>(lasts, duration::zero(), std::chrono::hours(24 * 365 * 100));
  request(change::pause, 0);
}

void host::request(change c, int status) {
  LEAT_ASSERT(this != &world_.local(), "host 'local' has no process: it runs the body");
  if (!is_running() || c < requested_) return;
  requested_ = c;
  status_ = status;
  world_.hosts_changed_ = true;
}

// Between two steps: no thread of the world runs.
bool host::settle() {
  switch (std::exchange(requested_, change::none)) {
    case change::none: break;
    case change::pause: begin_pause(); break;
    case change::terminate: kill(false); break;
    case change::stop_power: kill(true); break;
  }
  if (!is_running()) return false;
  if (running_->take_main_end()) {
    for (const auto& t : threads_) leat::detail::scope_registry::stop_scopes_on(t->sched);
  }
  if (!running_->has_main_ended()) return false;
  if (live_tasks() > 0) return true;
  running_->end();
  world_.engine_->note(name_, running_->end_text());
  if (world_.checks_connections_) world_.network_.check_closed(*network_);
  world_.network_.end_process(*network_);
  files_.end_process();
  files_.begin_process();
  return false;
}

std::size_t host::live_tasks() const noexcept {
  std::size_t live = 0;
  for (const auto& t : threads_) live += t->sched.live_tasks();
  return live;
}

// The order is that of a kernel: the process does not run any more, its connections are closed, and
// then its memory is freed. Here that means that its tasks are destroyed.
void host::kill(bool with_power) {
  const allocation_faults::without_faults own;
  world_.engine_->note(name_, with_power ? "FAULT: the power stops" : "FAULT: process terminated");
  for (const auto& t : threads_) t->finish_turn();
  ++pauses_;  // an end of a pause that is planned has no effect
  set_paused(false);
  if (!is_off_) world_.network_.set_power(*network_, true);
  if (with_power) {
    files_.crash();
    world_.network_.stop_power(*network_);
    is_off_ = true;
  } else {
    world_.network_.end_process(*network_);
  }
  files_.end_process();
  calls_->end_process();
  std::vector<virtual_scheduler*> all;
  for (const auto& t : threads_) all.push_back(&t->sched);
  virtual_scheduler::end_process(all);
  files_.begin_process();
  for (const auto& t : threads_) t->changed();
  if (is_running()) running_->killed(status_);
}

void host::begin_pause() {
  if (!is_running()) return;
  for (const auto& t : threads_) t->finish_turn();
  const bool is_machine = world_.decisions_.choose(2, "does the machine pause?") == 1;
  world_.engine_->note(name_,
                       std::string("FAULT: ") + (is_machine ? "machine" : "process") + " pauses");
  set_paused(true);
  if (is_machine) world_.network_.set_power(*network_, false);
  world_.network_.at(now_ + pause_, [this, pause = ++pauses_]() -> std::string {
    if (pause != pauses_) return "a pause of " + name_ + " has ended before";
    world_.network_.set_power(*network_, true);
    set_paused(false);
    return name_ + " continues";
  });
}

void host::set_paused(bool paused) noexcept {
  for (const auto& t : threads_) t->set_paused(paused);
}

void host::set_clock(std::chrono::nanoseconds offset, double ppm) {
  LEAT_ASSERT(ppm > -1e6 && ppm < 1e6, "a clock that stands still, or runs backwards");
  process_.jump_wall_clock(offset);
  clock_->set_drift(now_, ppm);
  world_.set_time_of_parts();
}

}  // namespace LEAT::sim
