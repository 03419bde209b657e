// expect: when_all_settled() takes ownership of its tasks: write std::move(tasks)
#include <vector>

#include "leat/async/joins/when_all_settled.hpp"

leat::task<> run(std::vector<leat::task<int>> tasks) { co_await leat::when_all_settled(tasks); }
