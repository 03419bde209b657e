// expect: with_coordinator() needs a body that returns a task: write [&](leat::coordinator& coord)
// expect: -> leat::task<> { ...; co_return; }
#include "leat/coordination/coordinator.hpp"

leat::task<> some_work();
leat::task<> run() {
  co_await leat::with_coordinator([](leat::coordinator& coord) { coord.spawn(some_work()); });
}
