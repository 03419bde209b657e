// std::mutex: locked alone, by two threads that compete for it, and with plain containers: a vector
// of deques as a broadcast, and a value with a version as a watch. No task waits.
//
// The suffix /one-thread of the workload keeps the shortcut of the C library for a program with a
// single thread.

#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "support/bench.hpp"
#include "support/sync_loops.hpp"

namespace {

void lock_alone(long count, long& sum) {
  std::mutex m;
  for (long i = 0; i < count; ++i) {
    const std::lock_guard held(m);
    ++sum;
    asm volatile("" : : "r"(&m) : "memory");
  }
}

double compete(const bench::request& r) {
  std::mutex m;
  bench::measured_count turns(r, 1);
  const auto loop = [&](std::size_t cpu) {
    bench::pin(cpu);
    for (bool more = true; more;) {
      const std::lock_guard held(m);
      more = turns.add();
    }
  };
  {
    const std::jthread first(loop, 0);
    const std::jthread second(loop, 1);
  }
  return turns.nanoseconds_each();
}

class channel {
 public:
  explicit channel(long receivers) : values_(static_cast<std::size_t>(receivers)) {}

  void send(long value) {
    const std::lock_guard lock(m_);
    for (auto& values : values_) values.push_back(value);
  }
  long receive(std::size_t receiver) {
    const std::lock_guard lock(m_);
    const long value = values_[receiver].front();
    values_[receiver].pop_front();
    return value;
  }

 private:
  std::mutex m_;
  std::vector<std::deque<long>> values_;
};

void broadcast_values(long receivers, long count, long& sum) {
  channel values(receivers);
  for (long done = 0; done < count; done += receivers * bench::values_per_round) {
    for (long i = 0; i < bench::values_per_round; ++i) values.send(1);
    for (long r = 0; r < receivers; ++r) {
      for (long i = 0; i < bench::values_per_round; ++i) {
        sum += values.receive(static_cast<std::size_t>(r));
      }
    }
  }
}

void watch_changes(long count, long& sum) {
  std::mutex m;
  long value = 0;
  std::uint64_t version = 0;
  std::uint64_t seen = 0;
  for (long i = 0; i < count; ++i) {
    {
      const std::lock_guard lock(m);
      value = 1;
      ++version;
    }
    const std::lock_guard lock(m);
    if (version != seen) sum += value;
    seen = version;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload == "sync/hand-over/2-threads") {
    return bench::report(r, "std::mutex", compete(r), "ns/lock");
  }
  const bool one_thread = r.workload.ends_with("/one-thread");
  if (!one_thread) std::jthread([] {}).join();
  bench::pin(0);
  const bench::delivery each(r);
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(each.rounds, [&](long count) {
    sum = 0;
    if (r.workload.starts_with("sync/mutex")) {
      lock_alone(count, sum);
    } else if (r.workload == "sync/watch") {
      watch_changes(count, sum);
    } else if (r.workload.starts_with("sync/broadcast-")) {
      broadcast_values(each.tasks, count, sum);
    } else {
      bench::unknown(r);
    }
  });
  if (sum < each.rounds.items) return 1;
  return bench::report(r, one_thread ? "std::mutex, one thread" : "std::mutex", nanoseconds,
                       each.unit);
}
