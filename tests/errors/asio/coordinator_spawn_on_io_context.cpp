// expect: spawn_on() needs a scheduler: write spawn_on(leat::get_scheduler(io), task) for an
// expect: asio::io_context
#include <asio/io_context.hpp>

#include "leat/coordination/coordinator.hpp"

void run(leat::coordinator& coord, asio::io_context& io) {
  coord.spawn_on(io, []() -> leat::task<> { co_return; });
}
