// expect: spawn_on() needs a scheduler: write spawn_on(leat::get_scheduler(io), task) for an
// expect: asio::io_context
#include <asio/io_context.hpp>

#include "leat/async/task_group.hpp"

leat::task<> work();
void run(leat::task_group& group, asio::io_context& io) { group.spawn_on(io, work(), "worker"); }
