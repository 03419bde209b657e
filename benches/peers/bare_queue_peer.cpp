// The least that a bounded queue of coroutines on one thread needs: a ring, two wait queues of
// suspended frames, and a run queue. It has no lock, stop, close, dump, counters or batches, and
// cannot be used by two threads. The difference to leat's queue is the cost of these features.

#include <coroutine>
#include <exception>
#include <vector>

#include "support/bench.hpp"
#include "support/producer_order.hpp"

namespace {

// A ring of fixed capacity. The caller must not add an item to a full ring.
template <class T>
class ring {
 public:
  explicit ring(std::size_t room) {
    std::size_t size = 1;
    while (size < room) size *= 2;
    places_.resize(size);
  }
  [[nodiscard]] std::size_t size() const { return in_ - out_; }
  void put(T value) { places_[in_++ & (places_.size() - 1)] = value; }
  T take() { return places_[out_++ & (places_.size() - 1)]; }

 private:
  std::vector<T> places_;
  std::size_t in_ = 0;
  std::size_t out_ = 0;
};

struct coroutine {
  struct promise_type {
    coroutine get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<> handle;
};

class bare_queue {
 public:
  bare_queue(std::size_t capacity, std::size_t coroutines)
      : capacity_(capacity),
        items_(capacity),
        pushes_(coroutines),
        pops_(coroutines),
        ready_(2 * coroutines) {}

  struct push_operation;
  struct pop_operation;

  push_operation push(long item);
  pop_operation pop();

  void start(coroutine c) { ready_.put(c.handle); }
  void run() {
    while (ready_.size() > 0) ready_.take().resume();
  }

 private:
  void admit();
  void serve();

  std::size_t capacity_;
  ring<long> items_;
  ring<push_operation*> pushes_;
  ring<pop_operation*> pops_;
  ring<std::coroutine_handle<>> ready_;
};

struct bare_queue::push_operation {
  bare_queue& queue;
  long item;
  std::coroutine_handle<> waiting = {};

  bool await_ready() {
    if (queue.pushes_.size() > 0 || queue.items_.size() == queue.capacity_) return false;
    queue.items_.put(item);
    if (queue.pops_.size() > 0) queue.serve();
    return true;
  }
  void await_suspend(std::coroutine_handle<> caller) {
    waiting = caller;
    queue.pushes_.put(this);
  }
  void await_resume() {}
};

struct bare_queue::pop_operation {
  bare_queue& queue;
  long item = 0;
  std::coroutine_handle<> waiting = {};

  bool await_ready() {
    if (queue.items_.size() == 0) return false;
    item = queue.items_.take();
    if (queue.pushes_.size() > 0) queue.admit();
    return true;
  }
  void await_suspend(std::coroutine_handle<> caller) {
    waiting = caller;
    queue.pops_.put(this);
  }
  long await_resume() { return item; }
};

bare_queue::push_operation bare_queue::push(long item) { return {*this, item}; }
bare_queue::pop_operation bare_queue::pop() { return {*this}; }

void bare_queue::admit() {
  push_operation* const first = pushes_.take();
  items_.put(first->item);
  ready_.put(first->waiting);
}

void bare_queue::serve() {
  pop_operation* const first = pops_.take();
  first->item = items_.take();
  ready_.put(first->waiting);
}

coroutine produce(bare_queue& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(i);
}

coroutine consume(bare_queue& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    const long item = co_await q.pop();
    sum += item;
  }
}

coroutine produce_number(bare_queue& q, long number, long count, bench::producer_order& order) {
  order.start();
  for (long i = 0; i < count; ++i) co_await q.push(number);
}

// Starts after all producers, because coroutines start in order.
coroutine consume_numbers(bare_queue& q, long count, bench::producer_order& order) {
  for (long i = 0; i < count; ++i) order.add(co_await q.pop());
}

void many_producers(long each, bench::producer_order& order) {
  bare_queue q(64, order.producers + 1);
  for (long i = 0; i < order.producers; ++i) q.start(produce_number(q, i, each, order));
  q.start(consume_numbers(q, each * order.producers, order));
  q.run();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  if (r.workload == "queue/1000-producers") {
    return bench::producer_order::measure(r, "bare coroutines", true, many_producers);
  }
  if (!r.workload.starts_with("queue/1-thread/capacity-")) bench::unknown(r);
  const auto capacity = static_cast<std::size_t>(bench::number_of(r));
  long sum = 0;
  const auto run = [&](long count) {
    bare_queue q(capacity, 2);
    q.start(produce(q, count));
    q.start(consume(q, count, sum));
    q.run();
  };
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, "bare coroutines", nanoseconds, "ns/item");
}
