// expect: a function of the options is called and not awaited
#include <utility>

#include "leat/io/reader/corruption.hpp"
#include "leat/queue/fifo_queue.hpp"

auto into(leat::fifo_queue<leat::corruption_report>& reports) {
  return leat::corruption_options{
      .on_report = [&](leat::corruption_report r) { return reports.push(std::move(r)); }};
}
