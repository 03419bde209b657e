// expect: spawn() needs a task<void>, because it discards the result: let the task write the value
// expect: to an object that outlives the join
#include "leat/async/task_group.hpp"

leat::task<int> work();
void run(leat::task_group& group) { group.spawn(work()); }
