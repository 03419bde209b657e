// expect: block_on() needs a task or an operation of a queue or primitive:
// expect: co_await others in a task
#include "leat/async/loop/block_on.hpp"
#include "leat/async/sleep.hpp"

void run() { leat::block_on(leat::sleep_for(std::chrono::seconds(1))); }
