#include "net/net_halves.hpp"

namespace leat_test {

std::span<const net_half> net_halves() {
  static const net_half halves[] = {
      {"TCP", false, &run_in_io_context},
      {"Unix", true, &run_in_io_context},
      {"TCP in an embedded_scheduler", false, &run_embedded},
      {"TCP in a world", false, &run_in_world, true},
      {"Unix in a world", true, &run_in_world, true},
  };
  return halves;
}

}  // namespace leat_test
