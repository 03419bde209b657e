// expect: spawn() needs a task<void>, because nobody receives the value: let the task write it to
// expect: an object that outlives the join
#include "leat/async/task_group.hpp"

leat::task<int> work();
void run(leat::task_group& group) { group.spawn(work()); }
