// expect: co_await consumes a task: write co_await std::move(task)
#include "leat/async/task.hpp"

leat::task<> run(const leat::task<>& work) { co_await work; }
