// expect: run_blocking() needs a function without parameters, or with a std::stop_token
#include "leat/async/blocking/run_blocking.hpp"
#include "leat/async/task.hpp"

int twice(int n);
leat::task<> run() { co_await leat::run_blocking(twice); }
