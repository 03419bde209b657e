// expect: run() needs a task<void> or a task<int>, whose result is the exit code
#include "leat/async/loop/run.hpp"

leat::task<bool> work() { co_return true; }

int main() { return leat::run(work()); }
