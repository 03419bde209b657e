// expect: callback in the options returns a coroutine, which would never run
#include <utility>

#include "leat/io/reader/corruption.hpp"
#include "leat/queue/fifo_queue.hpp"

auto into(leat::fifo_queue<leat::corruption_report>& reports) {
  return leat::corruption_options{
      .on_report = [&](leat::corruption_report r) { return reports.push(std::move(r)); }};
}
