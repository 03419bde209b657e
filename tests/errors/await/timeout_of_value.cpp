// expect: a limit takes an operation of leat that waits, such as queue.pop(), leat::sleep_for() or
// expect: group.join()
#include <chrono>

#include "leat/async/select.hpp"

leat::task<> run() { co_await leat::with_timeout(7, std::chrono::seconds(1)); }
