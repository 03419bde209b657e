// corral: its channel and its nursery, on one thread.

#include <corral/asio-standalone.h>
#include <corral/corral.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "support/bench.hpp"

namespace {

using channel = corral::Channel<long>;
template <class T>
using task = corral::Task<T>;

task<void> produce(channel& c, long count) {
  for (long i = 0; i < count; ++i) co_await c.send(i);
}

task<void> consume(channel& c, long count, long& sum) {
  for (long i = 0; i < count; ++i) sum += *co_await c.receive();
}

task<void> produce_batches(channel& c, long count) {
  const std::vector<long> items(64);
  for (long i = 0; i < count; i += 64) {
    auto next = items.begin();
    while (next != items.end()) next = co_await c.send(next, items.end());
  }
}

// Into the same memory each time, whereas a pop_many() of leat returns a vector.
task<void> consume_batches(channel& c, long count, long& sum) {
  std::vector<long> items(64);
  for (long i = 0; i < count;) {
    const auto end = co_await c.receive(items.begin(), 64);
    i += end - items.begin();
    sum += items.front();
  }
}

task<void> on_one_thread(std::size_t capacity, bool batches, long count, long& sum) {
  channel c(capacity);
  if (batches) {
    co_await corral::allOf(produce_batches(c, count), consume_batches(c, count, sum));
  } else {
    co_await corral::allOf(produce(c, count), consume(c, count, sum));
  }
}

task<void> many_producers(long count, long& sum) {
  channel c(64);
  CORRAL_WITH_NURSERY(producers) {
    for (int i = 0; i < 1000; ++i) producers.start(produce, std::ref(c), count / 1000);
    co_await consume(c, count / 1000 * 1000, sum);
    co_return corral::join;
  };
}

task<void> add_one(long& sum) {
  ++sum;
  co_return;
}

task<void> spawn_and_join(long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    CORRAL_WITH_NURSERY(group) {
      for (long i = 0; i < at_once; ++i) group.start(add_one, std::ref(sum));
      co_return corral::join;
    };
  }
}

task<void> when_all_2(long count, long& sum) {
  for (long i = 0; i < count; i += 2) co_await corral::allOf(add_one(sum), add_one(sum));
}

task<void> await_children(long count, long& sum) {
  for (long i = 0; i < count; ++i) co_await add_one(sum);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  const bool batches = r.workload.ends_with("batches-64");
  const auto capacity = batches ? std::size_t{1024} : static_cast<std::size_t>(bench::number_of(r));
  const bool is_task = r.workload.starts_with("task/");
  long sum = 0;
  const auto wait = [](task<void> t) {
    asio::io_service io;
    corral::run(io, std::move(t));
  };
  const auto run = [&](long count) {
    if (r.workload.starts_with("queue/1-thread/")) {
      wait(on_one_thread(capacity, batches, count, sum));
    } else if (r.workload == "queue/1000-producers") {
      wait(many_producers(count, sum));
    } else if (r.workload == "task/spawn-one") {
      wait(spawn_and_join(count, 1, sum));
    } else if (r.workload == "task/spawn-and-join") {
      wait(spawn_and_join(count, 1000, sum));
    } else if (r.workload == "task/spawn-and-join/million") {
      wait(spawn_and_join(count, count, sum));
    } else if (r.workload == "task/when-all-2") {
      wait(when_all_2(count, sum));
    } else if (r.workload == "task/child") {
      wait(await_children(count, sum));
    } else {
      bench::unknown(r);
    }
  };
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, is_task ? "corral" : "corral channel", nanoseconds,
                       is_task ? "ns/task" : "ns/item");
}
