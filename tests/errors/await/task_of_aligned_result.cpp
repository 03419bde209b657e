// expect: a larger alignment than the frame of a coroutine
#include "leat/async/task.hpp"

struct alignas(64) block {
  char bytes[64];
};
leat::task<block> read() { co_return block{}; }
