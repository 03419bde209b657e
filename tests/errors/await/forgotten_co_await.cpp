// expect: bool
#include "leat/async/task.hpp"

leat::task<bool> add();
leat::task<> run() {
  if (add()) co_return;
}
