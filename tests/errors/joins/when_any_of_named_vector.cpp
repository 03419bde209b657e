// expect: when_any() takes ownership of its tasks: write std::move(tasks)
#include <vector>

#include "leat/async/when_any.hpp"

leat::task<> run(std::vector<leat::task<int>> tasks) { co_await leat::when_any(tasks); }
