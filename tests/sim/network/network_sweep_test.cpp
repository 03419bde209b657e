// An echo service under the faults of the network. The laws of the network are checked in each run.

#include "sim/network/echo_world.hpp"
#include "support/leat_test.hpp"

namespace network_sweep_test {

using leat::sim::world;
using leat_test::all_network_faults;
using leat_test::echo_world;

task<> answers_all(world& w) {
  echo_world echo(w);
  co_await echo.run(false);
  if (echo.whole() != echo_world::clients) throw std::logic_error("not all texts came back");
}

task<> answers_parts(world& w) {
  echo_world echo(w);
  co_await echo.run(true);
}

TEST_CASE("network: an echo service without faults answers everything, in every order") {
  leat::sim::sweep(answers_all, {.count = 300, .check_repeatable = true});
}

TEST_CASE("network: an echo service with transfers and segments of all sizes answers everything") {
  leat::sim::sweep(
      answers_all,
      {.count = 300,
       .world = {.network = {.send_buffer = 2304,
                             .receive_buffer = 2304,
                             .faults = {.short_transfer = 0.2, .split = 0.2, .loss = 0.02}}}});
}

TEST_CASE("network: an echo service under all faults returns only what was written") {
  leat::sim::sweep(answers_parts, {.count = 1000, .world = {.network = all_network_faults()}});
}

TEST_CASE("network: a failure under all faults is repeatable") {
  leat::sim::sweep(answers_parts, {.first = 1'000'000,
                                   .count = 100,
                                   .world = {.network = all_network_faults()},
                                   .check_repeatable = true});
}

}  // namespace network_sweep_test
