// expect: spawn() needs a task<void>, or a callable that returns one
#include "leat/async/task_group.hpp"

void run(leat::task_group& group) {
  group.spawn([] {});
}
