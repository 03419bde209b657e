/// The smallest complete program: a bounded queue connects a producer and a consumer on one event
/// loop. The consumer ends when the queue is closed and drained. The group joins both, and stops
/// one of them if the other fails.

//! [program]
#include <cstdio>
#include <string>

#include <leat/async.hpp>
#include <leat/queue.hpp>

leat::task<> produce(leat::fifo_queue<std::string>& lines) {
  for (int i = 1; i <= 3; ++i) {
    if (!co_await lines.push("line " + std::to_string(i))) co_return;  // waits; false: closed
  }
  lines.close();
}

leat::task<> consume(leat::fifo_queue<std::string>& lines) {
  while (auto line = co_await lines.pop()) std::puts(line->c_str());
}

leat::task<> run() {
  leat::fifo_queue<std::string> lines(2, "lines");
  co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
    group.spawn(produce(lines), "producer");
    co_await consume(lines);
  });  // all tasks have finished here; rethrows the first error
}

int main() { return leat::run(run()); }
//! [/program]
