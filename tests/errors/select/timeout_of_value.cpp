// expect: with_timeout(), with_deadline() and with_stop() need a task or an operation of leat that
// expect: waits: pass queue.pop(), leat::sleep_for() or group.join()
#include <chrono>

#include "leat/async/select.hpp"

leat::task<> run() { co_await leat::with_timeout(7, std::chrono::seconds(1)); }
