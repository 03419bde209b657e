// expect: a thread runs a plain function, and this one is a coroutine
#include "leat/coordination/coordinator.hpp"

leat::task<int> work();
void run(leat::coordinator& coord) { coord.start_thread("worker", work); }
