#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "leat/sim/world/world.hpp"

namespace leat_test {

/// Runs a program in a simulated world, and checks that it has closed its files.
inline void in_world(const leat::sim::world::body& body) {
  leat::sim::world w(1);
  w.run(body);
  CHECK(w.files().open_files() == 0);
}

/// Changes a bit of the last byte of a file.
inline void damage(leat::sim::world& w, const std::string& path) {
  std::string bytes = w.files().read_file(path).value();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  w.files().write_file(path, bytes);
}

}  // namespace leat_test
