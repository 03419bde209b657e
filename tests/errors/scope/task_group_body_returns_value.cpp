// expect: with_task_group() needs a body that returns a task: write
#include "leat/async/task_group.hpp"

leat::task<> run() {
  co_await leat::with_task_group([](leat::task_group&) { return 42; });
}
