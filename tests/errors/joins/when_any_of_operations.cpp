// expect: when_any() needs tasks, not operations: wrap each operation in a task, or use select()
#include <chrono>

#include "leat/async/sleep.hpp"
#include "leat/async/when_any.hpp"

leat::task<> run() {
  co_await leat::when_any(leat::sleep_for(std::chrono::seconds(1)),
                          leat::sleep_for(std::chrono::seconds(2)));
}
