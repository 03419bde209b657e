/// leat inside a plain epoll loop, which watches one more descriptor. A timer of the loop pushes
/// numbers into a queue; one task squares them and another adds the squares.

#include <cstdint>
#include <cstdio>

#include <leat/leat.hpp>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace {

leat::task<> square(leat::fifo_queue<int>& numbers, leat::fifo_queue<int>& squares) {
  while (const auto n = co_await numbers.pop()) {
    if (!co_await squares.push(*n * *n)) co_return;
  }
  squares.close();
}

leat::task<> add(leat::fifo_queue<int>& squares, int& sum) {
  while (const auto n = co_await squares.pop()) sum += *n;
}

void watch(int epoll, int descriptor) {
  epoll_event event{EPOLLIN, {.fd = descriptor}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

}  // namespace

int main() {
  leat::embedded_scheduler scheduler;
  leat::fifo_queue<int> numbers(4, "numbers"), squares(4, "squares");
  int sum = 0;
  leat::task_group pipeline("pipeline");
  pipeline.spawn_on(scheduler, square(numbers, squares), "square");
  pipeline.spawn_on(scheduler, add(squares, sum), "add");

  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const itimerspec each_millisecond{{0, 1'000'000}, {0, 1'000'000}};
  ::timerfd_settime(timer, 0, &each_millisecond, nullptr);
  //! [loop]
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  watch(epoll, timer);
  watch(epoll, scheduler.descriptor());
  for (int next = 1; !scheduler.idle();) {
    epoll_event event{};
    ::epoll_wait(epoll, &event, 1, -1);
    if (event.data.fd == timer) {
      if (std::uint64_t ticks = 0; ::read(timer, &ticks, sizeof ticks) < 0) return 1;
      if (next <= 10 && numbers.try_push(next)) ++next;  // full: retries on the next tick
      if (next > 10) numbers.close();
    } else {
      scheduler.run_ready();
    }
  }
  leat::block_on(pipeline.join());  // returns immediately, or throws the error of a failed task
  //! [/loop]
  std::printf("the sum is %d\n", sum);
  return sum == 385 ? 0 : 1;
}
