// concurrencpp: the queue of its README, of an async_lock and an async_condition_variable, here
// with a bound; tasks on a worker thread; lazy_result.

#include <concurrencpp/concurrencpp.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "support/bench.hpp"
#include "support/producer_order.hpp"
#include "support/task_loops.hpp"

namespace {

using concurrencpp::executor_tag;
using concurrencpp::lazy_result;
using concurrencpp::result;
using worker = std::shared_ptr<concurrencpp::worker_thread_executor>;
using loops = bench::task_loops<lazy_result>;

class queue {
 public:
  explicit queue(std::size_t capacity) : capacity_(capacity) {}

  lazy_result<void> push(worker on, long item) {
    {
      auto guard = co_await lock_.lock(on);
      co_await room_.await(on, guard, [this] { return items_.size() < capacity_; });
      items_.push_back(item);
    }
    there_.notify_one();
  }
  lazy_result<long> pop(worker on) {
    long item = 0;
    {
      auto guard = co_await lock_.lock(on);
      co_await there_.await(on, guard, [this] { return !items_.empty(); });
      item = items_.front();
      items_.pop_front();
    }
    room_.notify_one();
    co_return item;
  }

 private:
  concurrencpp::async_lock lock_;
  concurrencpp::async_condition_variable room_;
  concurrencpp::async_condition_variable there_;
  std::deque<long> items_;
  std::size_t capacity_;
};

result<void> produce(executor_tag, worker on, queue& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(on, i);
}

result<void> consume(executor_tag, worker on, queue& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    const long item = co_await q.pop(on);
    sum += item;
  }
}

result<void> produce_number(executor_tag, worker on, queue& q, long number, long count,
                            bench::producer_order& order) {
  order.start();
  for (long i = 0; i < count; ++i) co_await q.push(on, number);
}

result<void> consume_numbers(executor_tag, worker on, queue& q, long count,
                             bench::producer_order& order) {
  while (!order.all_started()) co_await concurrencpp::resume_on(on);
  for (long i = 0; i < count; ++i) order.add(co_await q.pop(on));
}

void many_producers(worker on, long each, bench::producer_order& order) {
  queue q(64);
  std::vector<result<void>> all;
  for (long i = 0; i < order.producers; ++i) {
    all.push_back(produce_number({}, on, q, i, each, order));
  }
  all.push_back(consume_numbers({}, on, q, each * order.producers, order));
  for (auto& done : all) done.get();
}

using workers = std::array<worker, 2>;

// The consumers start on the last worker. `on` has the same worker twice if one thread is wanted.
void move(const workers& on, std::size_t capacity, std::size_t producers, std::size_t consumers,
          long count, long& sum) {
  queue q(capacity);
  std::vector<long> sums(consumers);
  std::vector<result<void>> all;
  const long each = count / static_cast<long>(producers);
  const long popped = each * static_cast<long>(producers) / static_cast<long>(consumers);
  for (std::size_t i = 0; i < producers; ++i) all.push_back(produce({}, on[i % 2], q, each));
  for (std::size_t i = 0; i < consumers; ++i) {
    all.push_back(consume({}, on[1 - i % 2], q, popped, sums[i]));
  }
  for (auto& done : all) done.get();
  for (const long part : sums) sum += part;
}

result<void> add_one(executor_tag, worker, long& sum) {
  ++sum;
  co_return;
}

result<void> spawn_and_join(executor_tag, worker on, long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    std::vector<result<void>> all;
    all.reserve(static_cast<std::size_t>(at_once));
    for (long i = 0; i < at_once; ++i) all.push_back(add_one({}, on, sum));
    co_await concurrencpp::when_all(on, all.begin(), all.end());
  }
}

result<void> answer(executor_tag, worker on, queue& there, queue& back, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const long ball = co_await there.pop(on);
    co_await back.push(on, ball + 1);
  }
}

result<void> ask(executor_tag, worker on, queue& there, queue& back, bench::latencies& trips) {
  for (std::size_t i = 0; i < trips.wanted(); ++i) {
    const long begin = bench::nanoseconds_now();
    co_await there.push(on, static_cast<long>(i));
    co_await back.pop(on);
    trips.add(bench::seconds_since(begin));
  }
}

void ping_pong(const workers& on, bench::latencies& trips) {
  queue there(1);
  queue back(1);
  auto asked = ask({}, on[0], there, back, trips);
  answer({}, on[1], there, back, trips.wanted()).get();
  asked.get();
}

void run_task(const bench::request& r, const worker& on, long count, long& sum) {
  const bool all = r.workload == "task/spawn-and-join/million";
  if (r.workload == "task/spawn-one") {
    spawn_and_join({}, on, count, 1, sum).get();
  } else if (all || r.workload == "task/spawn-and-join") {
    spawn_and_join({}, on, count, all ? count : 1000, sum).get();
  } else {
    loops::loop(r, count, sum).run().get();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  const bool one_core = r.workload.ends_with("one-core");
  concurrencpp::runtime runtime;
  workers on = {runtime.make_worker_thread_executor(), runtime.make_worker_thread_executor()};
  on[0]->submit([] { bench::pin(0); }).get();
  on[1]->submit([&] { bench::pin(one_core ? 0 : 1); }).get();
  bench::pin(0);
  if (r.workload.starts_with("task/ping-pong")) {
    bench::latencies trips(static_cast<std::size_t>(r.items));
    ping_pong(on, trips);
    return trips.report(r, "concurrencpp");
  }
  if (r.workload == "queue/1000-producers") {
    return bench::producer_order::measure(
        r, "concurrencpp, its README's queue", false,
        [&](long each, bench::producer_order& order) { many_producers(on[0], each, order); });
  }
  const bool pairs = r.workload.starts_with("queue/2-threads/2-by-2/");
  const bool is_task = r.workload.starts_with("task/");
  if (!r.workload.starts_with("queue/2-threads/")) on[1] = on[0];
  const auto capacity = static_cast<std::size_t>(bench::number_of(r));
  long sum = 0;
  const auto run = [&](long count) {
    is_task ? run_task(r, on[0], count, sum)
            : move(on, capacity, pairs ? 2 : 1, pairs ? 2 : 1, count, sum);
  };
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, is_task ? "concurrencpp" : "concurrencpp, its README's queue",
                       nanoseconds, is_task ? "ns/task" : "ns/item");
}
