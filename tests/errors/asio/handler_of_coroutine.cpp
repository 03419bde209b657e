// expect: completion handler returns a coroutine, which would never run
// expect: start the coroutine with leat::async_run()
#include <optional>
#include <system_error>

#include "leat/queue/completion_tokens.hpp"
#include "leat/queue/fifo_queue.hpp"

void use(leat::fifo_queue<int>& queue) {
  queue.async_pop([](std::error_code, std::optional<int>) -> leat::task<> { co_return; });
}
