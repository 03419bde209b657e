#include "leat/sim/allocation_faults.hpp"

#include <new>
#include <stdexcept>
#include <utility>

namespace leat::sim {
namespace {

constinit thread_local allocation_faults* faults_here = nullptr;

}  // namespace

bool allocation_faults::next_fails() noexcept {
  allocation_faults* const here = faults_here;
  if (!here) return false;
  const spared own;  // deciding allocates, too
  return here->decide();
}

bool allocation_faults::decide() {
  if (ended_) return false;
  ++count_;
  const bool fails =
      options_.plan == count_ || choices_.chance(options_.failure, "allocation fails?");
  if (fails) failed_.push_back(count_);
  return fails;
}

void allocation_faults::require_failing_new() {
  allocation_faults probe(choices_, {.plan = 1});
  try {
    const asked once(probe);
    ::operator delete(::operator new(1));
  } catch (const std::bad_alloc&) {
    return;
  }
  throw std::logic_error(
      "allocations are to fail, but no source of this program includes leat/sim/failing_new.hpp");
}

allocation_faults::spared::spared() noexcept : outer_(std::exchange(faults_here, nullptr)) {}
allocation_faults::spared::~spared() { faults_here = outer_; }

allocation_faults::asked::asked(allocation_faults& faults) noexcept {
  faults_here = faults.wanted() ? &faults : nullptr;
}
allocation_faults::asked::~asked() { faults_here = nullptr; }

}  // namespace leat::sim
