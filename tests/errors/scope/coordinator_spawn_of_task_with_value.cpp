// expect: spawn() needs a task<void>, because it discards the result: let the task write the value
// expect: to an object that outlives the join
#include "leat/coordination/coordinator.hpp"

leat::task<int> work();
void run(leat::coordinator& coord) { coord.spawn(work()); }
