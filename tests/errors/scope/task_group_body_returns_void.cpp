// expect: with_task_group() needs a body that returns a task: write [&](leat::task_group& group)
// expect: -> leat::task<> { ...; co_return; }
#include "leat/async/task_group.hpp"

leat::task<> some_work();
leat::task<> run() {
  co_await leat::with_task_group([](leat::task_group& group) { group.spawn(some_work()); });
}
