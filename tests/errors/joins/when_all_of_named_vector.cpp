// expect: when_all() takes ownership of its tasks: write std::move(tasks)
#include <vector>

#include "leat/async/when_all.hpp"

leat::task<> run(std::vector<leat::task<int>> tasks) { co_await leat::when_all(tasks); }
