// expect: start_thread() needs a name for messages: write start_thread("name", [](std::stop_token
// expect: stop) { ... })
#include "leat/coordination/coordinator.hpp"

void run(leat::coordinator& coord) {
  coord.start_thread([] {});
}
