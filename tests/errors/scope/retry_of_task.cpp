// expect: retry() needs a callable that returns a task, because each attempt is a new task
#include <utility>

#include "leat/async/retry.hpp"

leat::task<int> download();
leat::task<int> run() {
  leat::task<int> once = download();
  co_return co_await leat::retry(std::move(once), {.attempts = 3});
}
