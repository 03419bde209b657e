// expect: when_all() needs tasks, not operations: wrap each operation in a task
#include <chrono>

#include "leat/async/sleep.hpp"
#include "leat/async/when_all.hpp"

leat::task<> run() {
  co_await leat::when_all(leat::sleep_for(std::chrono::seconds(1)),
                          leat::sleep_for(std::chrono::seconds(2)));
}
