// expect: run() consumes the task: write run(std::move(task))
#include "leat/async/loop/run.hpp"

leat::task<> work() { co_return; }

int main() {
  auto named = work();
  return leat::run(named);
}
