#include "sim/world/simulated_calls.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include "leat/sim/allocation_faults.hpp"

namespace LEAT::sim {

using leat::detail::blocking_call;

// The next change of a call: from waiting to running, or its execution.
struct simulated_calls::alarm : leat::timer {
  alarm(simulated_calls& o, blocking_call& c, duration r) noexcept
      : timer(&expired), owner(o), call(c), running_time(r) {}

  simulated_calls& owner;
  blocking_call& call;
  const duration running_time;
};

// A call that take() accepts has an alarm, whose timer expires at the end of its waiting time and
// again at the end of its running time. Then the call is posted to the scheduler, which executes
// it. drop() withdraws a call that is still waiting.

simulated_calls::simulated_calls(decision_source& decisions, virtual_scheduler& sched) noexcept
    : decisions_(decisions), scheduler_(sched) {}

simulated_calls::~simulated_calls() {
  for (const auto& a : alarms_) scheduler_.cancel_timer(*a);
}

duration simulated_calls::latency() {
  using namespace std::chrono_literals;
  constexpr duration times[] = {0us, 10us, 1ms, 100ms, 10s};
  return times[decisions_.choose(std::size(times), "time of a blocking function")];
}

bool simulated_calls::take(blocking_call& call) noexcept {
  const allocation_faults::without_faults own;
  try {
    const duration waiting_time = latency();
    const duration running_time = latency();
    if (waiting_time == duration::zero() && running_time == duration::zero()) return false;
    alarms_.push_back(std::make_unique<alarm>(*this, call, running_time));
    try {
      scheduler_.add_timer(*alarms_.back(), scheduler_.now() + waiting_time);
    } catch (...) {
      alarms_.pop_back();
      throw;
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;  // it runs in the next turn
  }
}

bool simulated_calls::drop(blocking_call& call) noexcept {
  const auto at = std::ranges::find_if(alarms_, [&](const auto& a) { return &a->call == &call; });
  if (at == alarms_.end()) return false;
  scheduler_.cancel_timer(**at);
  alarms_.erase(at);
  return true;
}

void simulated_calls::expired(leat::timer& t) noexcept {
  const allocation_faults::without_faults own;
  auto& self = static_cast<alarm&>(t);
  simulated_calls& owner = self.owner;
  blocking_call& call = self.call;
  if (call.is_waiting() && self.running_time > duration::zero()) {
    call.set_running();
    try {
      owner.scheduler_.add_timer(self, owner.scheduler_.now() + self.running_time);
      return;
    } catch (const std::bad_alloc&) {  // it ends now
    }
  }
  std::erase_if(owner.alarms_, [&](const auto& a) { return a.get() == &self; });
  owner.scheduler_.post(call);
}

void simulated_calls::end_process() noexcept {
  // Those that wait for a thread are withdrawn when their tasks are destroyed.
  std::erase_if(alarms_, [this](const auto& a) {
    if (a->call.is_waiting()) return false;
    scheduler_.cancel_timer(*a);
    scheduler_.post(a->call);
    return true;
  });
}

void simulated_call_part::end_process() noexcept {
  const allocation_faults::without_faults own;
  for (const auto& calls : calls_) calls->end_process();
}

void simulated_call_part::install(virtual_scheduler& thread) {
  calls_.push_back(std::make_unique<simulated_calls>(decisions_, thread));
  thread.set_service<leat::detail::blocking_calls>(calls_.back().get());
}

}  // namespace LEAT::sim
