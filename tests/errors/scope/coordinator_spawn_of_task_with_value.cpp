// expect: spawn() needs a task<void>, because nobody receives the value: let the task write it to
// expect: an object that outlives the join
#include "leat/coordination/coordinator.hpp"

leat::task<int> work();
void run(leat::coordinator& coord) { coord.spawn(work()); }
