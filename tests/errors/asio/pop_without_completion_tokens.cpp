// expect: the async_ operations need another header
// expect: #include <leat/async/loop/completion_tokens.hpp>
#include <optional>
#include <system_error>

#include "leat/queue/fifo_queue.hpp"

void use(leat::fifo_queue<int>& queue) {
  queue.async_pop([](std::error_code, std::optional<int>) {});
}
