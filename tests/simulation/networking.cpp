// An echo service under all faults of the network, whose host fails too.

#include "sim/network/echo_world.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {

leat::task<> networking(leat::sim::world& w) {
  w.check_connections();
  leat_test::echo_world echo(w);
  co_await echo.run(true);
}

}  // namespace simulation
