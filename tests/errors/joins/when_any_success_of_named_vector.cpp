// expect: when_any_success() takes ownership of its tasks: write std::move(tasks)
#include <vector>

#include "leat/async/joins/when_any_success.hpp"

leat::task<> run(std::vector<leat::task<int>> tasks) { co_await leat::when_any_success(tasks); }
