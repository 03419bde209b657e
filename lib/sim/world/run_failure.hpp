#pragma once

#include <string>

#include "leat/sim/world/world.hpp"

namespace LEAT::sim {

/// How a run failed.
struct run_failure {
  std::string type;   // of the exception
  std::string what;   // empty: the run succeeded
  std::string shape;  // the lines of what() that tell failures apart, without digits

  explicit operator bool() const noexcept { return !what.empty(); }

  /// Returns true if this failure has the type of `other`, and each line of its shape is a line of
  /// the other shape.
  [[nodiscard]] bool is_like(const run_failure& other) const;
};

/// Runs a world, and returns its failure. `variables` replay the run: an assertion that ends the
/// process prints them.
run_failure run_and_catch(world& w, const world::body& b, const std::string& variables);

}  // namespace LEAT::sim
