// expect: with_task_group() needs a body that returns a task: write [&](leat::task_group& group)
// expect: -> leat::task<> { ...; co_return; }
#include "leat/async/task_group.hpp"

leat::task<int> run() {
  int n = co_await leat::with_task_group([](leat::task_group&) -> leat::task<int> { co_return 3; });
  co_return n;
}
