#pragma once

// Programs that run with many seeds. Each throws if a check fails.

#include <stdexcept>
#include <string>
#include <vector>

#include "leat/sim/world/world.hpp"

namespace simulation {

struct scenario {
  const char* name;
  leat::sim::world_options world;
  leat::task<> (*body)(leat::sim::world&);
};

/// All scenarios, in the order of the layers.
[[nodiscard]] const std::vector<scenario>& scenarios();

leat::task<> queues(leat::sim::world& w);
leat::task<> selecting(leat::sim::world& w);
leat::task<> synchronizing(leat::sim::world& w);
leat::task<> networking(leat::sim::world& w);
leat::task<> limiting(leat::sim::world& w);
leat::task<> generating(leat::sim::world& w);
leat::task<> undoing(leat::sim::world& w);
leat::task<> budgets(leat::sim::world& w);
leat::task<> coordination(leat::sim::world& w);
leat::task<> running(leat::sim::world& w);
leat::task<> reading(leat::sim::world& w);
leat::task<> changing(leat::sim::world& w);
leat::task<> batching(leat::sim::world& w);
leat::task<> pipeline(leat::sim::world& w);
leat::task<> resuming(leat::sim::world& w);
leat::task<> supervising(leat::sim::world& w);
leat::task<> transferring(leat::sim::world& w);
leat::task<> crashes(leat::sim::world& w);

/// A check in simulated programs: throws std::logic_error with the sentence unless `holds`.
inline void require(bool holds, const std::string& sentence) {
  if (!holds) throw std::logic_error(sentence);
}

}  // namespace simulation
