// expect: run() needs a task<void>, a task<int>, or a callable that returns one: write
#include "leat/async/loop/run.hpp"

int main() {
  return leat::run([] {});
}
