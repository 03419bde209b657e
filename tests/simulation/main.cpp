// Runs the scenarios under many seeds: simulate [--first N] [--count N] [SCENARIO...]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "leat/sim/world/sweep.hpp"
#include "sim/network/echo_world.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {

const std::vector<scenario>& scenarios() {
  static const leat::sim::fault_rates rough{.short_transfer = 0.1,
                                            .interrupted = 0.05,
                                            .again = 0.05,
                                            .cancelled_late = 0.05,
                                            .slow = 0.02};
  static const leat::sim::fault_rates meddled{
      .short_transfer = 0.1, .truncated = 0.03, .replaced = 0.03};
  static const leat::sim::fault_rates failing{.short_transfer = 0.05,
                                              .interrupted = 0.02,
                                              .again = 0.02,
                                              .cancelled_late = 0.02,
                                              .io_error = 0.003,
                                              .no_space = 0.005,
                                              .slow = 0.005,
                                              .crash = 0.005};
  static const std::vector<scenario> all{
      {"queues", {.threads = 3}, queues},
      {"selecting", {.threads = 3}, selecting},
      {"synchronizing", {.threads = 3}, synchronizing},
      {"transferring", {.threads = 2}, transferring},
      {"networking", {.network = leat_test::all_network_faults()}, networking},
      {"limiting", {.threads = 2}, limiting},
      {"generating", {.threads = 3}, generating},
      {"undoing", {.threads = 3}, undoing},
      {"budgets", {.threads = 3}, budgets},
      {"coordination", {.threads = 2}, coordination},
      {"running", {.threads = 2}, running},
      {"reading", {.threads = 2, .files = {.faults = rough}}, reading},
      {"changing", {.threads = 2, .files = {.faults = meddled}}, changing},
      {"batching", {.threads = 3}, batching},
      {"pipeline", {.threads = 2, .files = {.faults = rough}}, pipeline},
      {"resuming", {.threads = 3, .files = {.faults = rough}}, resuming},
      {"supervising", {.threads = 2, .files = {.faults = failing}, .wall_jump = 0.02}, supervising},
      {"crashes", {.wall_jump = 0.02}, crashes},
  };
  return all;
}

}  // namespace simulation

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t count = 1000;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--first" || argument == "--count") && i + 1 < argc) {
      (argument == "--first" ? first : count) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      names.push_back(argument);
    }
  }
  std::size_t ran = 0;
  for (const auto& s : simulation::scenarios()) {
    if (!names.empty() && std::find(names.begin(), names.end(), s.name) == names.end()) continue;
    ++ran;
    try {
      const auto result = leat::sim::sweep(
          [&s](leat::sim::world& w) {
            w.check_frames();
            return s.body(w);
          },
          {.first = first,
           .count = count,
           .world = s.world,
           .replay = std::string(argv[0]) + " " + s.name});
      std::printf("%-14s %9llu seeds, %12llu steps, %10.1f virtual hours\n", s.name,
                  static_cast<unsigned long long>(result.seeds),
                  static_cast<unsigned long long>(result.steps),
                  std::chrono::duration<double, std::ratio<3600>>(result.virtual_time).count());
      std::fflush(stdout);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", s.name, e.what());
      return 1;
    }
  }
  if (ran == 0) {
    std::fputs("simulate: unknown scenario\n", stderr);
    return 2;
  }
}
