#include "leat/sim/allocation_faults.hpp"

#include <new>
#include <stdexcept>
#include <utility>

namespace LEAT::sim {
namespace {

// Set while a step of the program runs in a world whose allocations may fail, except within
// `without_faults`. It is null for the world itself and on other threads, whose allocations
// therefore neither count nor fail.
constinit thread_local allocation_faults* current_faults = nullptr;

}  // namespace

bool allocation_faults::next_fails() noexcept {
  allocation_faults* const here = current_faults;
  if (!here) return false;
  const without_faults own;  // the decision allocates, too
  return here->decide();
}

bool allocation_faults::decide() {
  if (ended_) return false;
  ++count_;
  const bool fails =
      options_.plan == count_ || decisions_.chance(options_.failure, "allocation fails?");
  if (fails) failed_.push_back(count_);
  return fails;
}

void allocation_faults::require_failing_new() {
  allocation_faults probe(decisions_, {.plan = 1});
  try {
    const with_faults once(probe);
    ::operator delete(::operator new(1));
  } catch (const std::bad_alloc&) {
    return;
  }
  throw std::logic_error(
      "allocation faults are enabled, but no source of this program includes "
      "leat/sim/failing_new.hpp: include it in one source");
}

allocation_faults::without_faults::without_faults() noexcept
    : outer_(std::exchange(current_faults, nullptr)) {}
allocation_faults::without_faults::~without_faults() { current_faults = outer_; }

allocation_faults::with_faults::with_faults(allocation_faults& faults) noexcept {
  current_faults = faults.is_enabled() ? &faults : nullptr;
}
allocation_faults::with_faults::~with_faults() { current_faults = nullptr; }

}  // namespace LEAT::sim
