// expect: bool
#include "leat/core/task.hpp"

leat::task<bool> add();
leat::task<> run() {
  if (add()) co_return;
}
