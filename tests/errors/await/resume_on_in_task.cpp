// expect: resume_on() is for coroutines of other libraries: a leat task stays on its scheduler, so
// expect: write leat::run_on(scheduler, task) for the other part
#include "leat/async/resume_on.hpp"
#include "leat/async/task.hpp"

leat::task<> move(leat::scheduler& other) { co_await leat::resume_on(other); }
