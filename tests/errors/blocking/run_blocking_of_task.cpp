// expect: run_blocking() calls a function that blocks a thread, but this one returns a task
#include "leat/async/blocking/run_blocking.hpp"
#include "leat/async/task.hpp"

leat::task<int> work();
leat::task<> run() { co_await leat::run_blocking(work); }
