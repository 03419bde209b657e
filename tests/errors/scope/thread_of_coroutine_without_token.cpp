// expect: start_thread() needs a plain function, because a coroutine would never run
#include "leat/coordination/coordinator.hpp"

leat::task<int> work();
void run(leat::coordinator& coord) { coord.start_thread("worker", work); }
