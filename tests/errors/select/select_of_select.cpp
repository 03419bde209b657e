// expect: a select() cannot be inside of another select(): write all operations in one
#include "leat/async/select.hpp"
#include "leat/queue/fifo_queue.hpp"

leat::task<> run(leat::fifo_queue<int>& a, leat::fifo_queue<int>& b) {
  co_await leat::select(leat::select(a.pop()), b.pop());
}
