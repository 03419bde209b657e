// The cost of leat as the number of objects grows. Each workload ends with a number N and prints
// two results: the time in ns and the memory in bytes, of one of the N objects or of one item.
//
// growth/queues-N       a producer and a consumer on each of N queues, on two threads; per item,
//                       and memory per queue
// growth/tasks-N        N tasks that yield once, spawned and joined; per task
// growth/connections-N  echoes of 64 bytes by a server with N connections; per echo, and memory per
//                       connection
// growth/waiters-N      N tasks that wait for an item of one queue, resumed by N pushes; per task
// growth/when-all-N     N tasks in when_all(); per task

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <asio/detached.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <leat/async/loop/async_run.hpp>
#include <leat/async/loop/use_task.hpp>
#include <leat/leat.hpp>

#include "support/asio_operations.hpp"
#include "support/bench.hpp"
#include "support/pin_threads.hpp"

namespace {

struct cost {
  double nanoseconds = 0;
  double bytes = 0;
};

// The number of repetitions for which a few objects are measured as long as a million.
long repetitions(long count) { return std::max(1'000'000 / count, 1L); }

cost of(double seconds, long parts, std::size_t bytes, long objects) {
  return {seconds * 1e9 / static_cast<double>(parts),
          static_cast<double>(bytes) / static_cast<double>(objects)};
}

leat::task<> produce(leat::fifo_queue<long>& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(long{i});
  q.close();
}

leat::task<> consume(leat::fifo_queue<long>& q) {
  long sum = 0;
  while (const auto item = co_await q.pop()) sum += *item;
}

leat::task<std::size_t> memory_of_queues(long count) {
  const std::size_t before = bench::heap_bytes();
  std::deque<leat::fifo_queue<long>> queues;
  leat::task_group g;
  for (long i = 0; i < count; ++i) g.spawn(consume(queues.emplace_back(std::size_t{64})));
  co_await leat::this_task::yield();
  const std::size_t after = bench::heap_bytes();
  for (auto& q : queues) q.close();
  co_await g.join();
  co_return after - before;
}

cost queues(long count) {
  const long each = 4'000'000 / count;
  leat::runtime rt({.threads = 2});
  std::deque<leat::fifo_queue<long>> queues;
  bench::pin_threads(rt);
  const bench::stopwatch watch;
  leat::task_group pairs;
  for (long i = 0; i < count; ++i) {
    auto& q = queues.emplace_back(std::size_t{64});
    auto& on = rt.get_scheduler(static_cast<std::size_t>(i) % 2);
    pairs.spawn_on(on, produce(q, each));
    pairs.spawn_on(on, consume(q));
  }
  leat::block_on(pairs.join());
  const double seconds = watch.seconds();
  const leat::detail::frame_cache_bypass counted;  // malloc counts the frames
  return of(seconds, each * count, leat::block_on(memory_of_queues(count)), count);
}

leat::task<> yield_once() { co_await leat::this_task::yield(); }

leat::task<std::size_t> spawn_and_join(long count) {
  leat::task_group g;
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) g.spawn(yield_once());
  const std::size_t after = bench::heap_bytes();
  co_await g.join();
  co_return after - before;
}

leat::task<> pop_once(leat::fifo_queue<long>& q) { co_await q.pop(); }

leat::task<std::size_t> wait_and_resume(long count, double& seconds) {
  leat::fifo_queue<long> q(64);
  leat::task_group g;
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) g.spawn(pop_once(q));
  co_await leat::this_task::yield();
  const std::size_t after = bench::heap_bytes();
  const bench::stopwatch watch;
  for (long i = 0; i < count; ++i) co_await q.push(long{i});
  co_await g.join();
  seconds += watch.seconds();
  co_return after - before;
}

leat::task<> store_heap_bytes(std::size_t& bytes) {
  bytes = bench::heap_bytes();
  co_return;
}

leat::task<> do_nothing() { co_return; }

leat::task<std::size_t> all_at_once(long count) {
  const std::size_t before = bench::heap_bytes();
  std::size_t after = before;
  std::vector<leat::task<>> tasks;
  tasks.reserve(static_cast<std::size_t>(count));
  tasks.push_back(store_heap_bytes(after));  // runs before the others have ended
  for (long i = 1; i < count; ++i) tasks.push_back(do_nothing());
  co_await leat::when_all(std::move(tasks));
  co_return after - before;
}

// The workload: returns the memory of its objects, and adds the part of its time that counts.
using workload = std::function<leat::task<std::size_t>(double&)>;

leat::task<> repeat(const workload& run, long times, double& seconds) {
  for (long i = 0; i < times; ++i) co_await run(seconds);
}

// Runs a workload once without the cache of frames, to measure its memory. Then runs it repeatedly
// to measure its time. The whole time counts, unless the workload adds a part of it.
cost repeated(long count, const workload& run) {
  double seconds = 0;
  std::size_t bytes = 0;
  {
    const leat::detail::frame_cache_bypass counted;  // malloc counts the frames
    bytes = leat::block_on(run(seconds));
  }
  leat::block_on(repeat(run, std::max(repetitions(count) / 10, 1L), seconds));
  seconds = 0;
  const bench::stopwatch watch;
  leat::block_on(repeat(run, repetitions(count), seconds));
  if (seconds == 0) seconds = watch.seconds();
  return of(seconds, repetitions(count) * count, bytes, count);
}

struct leat_library {
  using task = leat::task<>;
  static constexpr const leat::use_task_t& token = leat::use_task;
  static void start(asio::io_context& io, task t) {
    leat::async_run(io, std::move(t), asio::detached);
  }
};
using echo_loops = bench::asio_loops<leat_library>;
using bench::tcp;

// The clients are a process of their own, so that each process has a descriptor per connection.
// They start when `start` becomes readable.
[[noreturn]] void call_from_child(const tcp::endpoint& server, int start, long connections,
                                  long each) {
  bench::pin(1);
  asio::io_context io{1};
  std::vector<tcp::socket> clients;
  for (long i = 0; i < connections; ++i) {
    clients.emplace_back(io).connect(server);
    clients.back().set_option(tcp::no_delay(true));
  }
  char byte = 0;
  if (::read(start, &byte, 1) != 1) std::_Exit(1);
  for (tcp::socket& s : clients) leat_library::start(io, echo_loops::call(s, each, nullptr));
  io.run();
  std::_Exit(0);
}

// Serves `each` echoes on each of the connections. Returns the time and the memory.
cost serve(long connections, long each) {
  asio::io_context io{1};
  tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
  const auto endpoint = acceptor.local_endpoint();
  int start[2];
  if (::pipe(start) != 0) std::abort();
  io.notify_fork(asio::io_context::fork_prepare);
  const pid_t child = ::fork();
  if (child == 0) {
    io.notify_fork(asio::io_context::fork_child);
    call_from_child(endpoint, start[0], connections, each);
  }
  io.notify_fork(asio::io_context::fork_parent);
  bench::pin(0);
  const std::size_t before = bench::heap_bytes();
  std::vector<tcp::socket> servers;
  servers.reserve(static_cast<std::size_t>(connections));
  for (long i = 0; i < connections; ++i) {
    servers.push_back(acceptor.accept());
    servers.back().set_option(tcp::no_delay(true));
  }
  for (tcp::socket& s : servers) leat_library::start(io, echo_loops::serve(s, each));
  while (io.poll() > 0) {
  }
  const std::size_t after = bench::heap_bytes();  // each connection waits in a read
  const bench::stopwatch watch;
  if (::write(start[1], "", 1) != 1) std::abort();
  io.run();
  const double seconds = watch.seconds();
  ::waitpid(child, nullptr, 0);
  ::close(start[0]);
  ::close(start[1]);
  return of(seconds, connections * each, after - before, connections);
}

cost connections(long count) {
  bench::raise_descriptor_limit();
  double bytes = 0;
  {
    const leat::detail::frame_cache_bypass counted;  // malloc counts the frames
    bytes = serve(count, 1).bytes;
  }
  return {serve(count, std::clamp(100'000 / count, 1L, 10'000L)).nanoseconds, bytes};
}

cost measure(const bench::request& r) {
  const long count = bench::number_of(r);
  if (r.workload.starts_with("growth/queues-")) return queues(count);
  if (r.workload.starts_with("growth/connections-")) return connections(count);
  bench::pin(0);
  if (r.workload.starts_with("growth/tasks-")) {
    return repeated(count, [=](double&) { return spawn_and_join(count); });
  }
  if (r.workload.starts_with("growth/when-all-")) {
    return repeated(count, [=](double&) { return all_at_once(count); });
  }
  if (r.workload.starts_with("growth/waiters-")) {
    return repeated(count, [=](double& seconds) { return wait_and_resume(count, seconds); });
  }
  bench::unknown(r);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  // The fork of the echo server must come before the first thread.
  if (!r.workload.starts_with("growth/connections-")) std::jthread([] {}).join();
  const cost measured = measure(r);
  bench::report(r, "leat", measured.nanoseconds, "ns");
  return bench::report(r, "leat", measured.bytes, "bytes");
}
