#pragma once

#include <catch2/catch.hpp>

#include "leat/sim/world/world.hpp"

namespace leat_test {

/// Runs a program in a simulated world, and checks that it has closed its files.
inline void in_world(const leat::sim::world::body& body) {
  leat::sim::world w(1);
  w.run(body);
  CHECK(w.files().open_files() == 0);
}

}  // namespace leat_test
