// expect: a task is awaited once, and given up for that: write co_await std::move(task)
#include "leat/core/task.hpp"

leat::task<> run(const leat::task<>& work) { co_await work; }
