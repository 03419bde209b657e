// expect: an async_generator cannot be awaited: write co_await generator.next()
#include "leat/async/async_generator.hpp"

leat::task<> run(leat::async_generator<int> numbers) { co_await numbers; }
