/// An operation of one's own, a latch, in each form that leat gives to it.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <source_location>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>
#include <leat/async/loop/completion_tokens.hpp>
#include <leat/leat.hpp>
#include <leat/sync/synchronizer.hpp>

using namespace std::chrono_literals;

//! [latch]
/// wait() ends once count_down() has been called `count` times.
class latch final : public leat::synchronizer {
 public:
  explicit latch(std::size_t count, std::string name = {})
      : synchronizer("latch", order::as_ready, std::move(name)), left_(count) {}
  ~latch() override { unregister(); }

  void count_down() {
    leat::work_list woken;
    {
      const lock_type lock(mutex_);
      if (left_ > 0 && --left_ == 0) woken = serve();
    }
    wake_all(woken);
  }

  auto wait(std::source_location where = std::source_location::current()) {
    return leat::await_operation<zero>(where, this);
  }
  template <class Token>
  auto async_wait(Token&& token, std::source_location where = std::source_location::current()) {
    return leat::initiate<zero>(where, std::forward<Token>(token), this);
  }

 private:
  struct zero : leat::synchronizer_operation<latch> {
    static constexpr auto wait_kind = leat::synchronizer_waiter::kind_of("wait for", "latch");

    static std::size_t request() noexcept { return 1; }  // not used: all waits are equal
    bool try_complete(leat::caller) const {
      const lock_type lock(object->mutex_);
      return object->left_ == 0;
    }
    static void undo(leat::waiter&) noexcept {}
    static void result(leat::wait_outcome) noexcept {}
  };

  bool is_ready(const leat::synchronizer_waiter&) const noexcept override { return left_ == 0; }
  void grant(leat::synchronizer_waiter&) noexcept override {}
  void append_state_to(std::string& text) const override {
    text += " (" + std::to_string(left_) + " left)";
  }

  std::size_t left_;
};
//! [/latch]

leat::task<> work(latch& done) {
  co_await leat::sleep_for(2ms);
  done.count_down();
}

//! [use]
leat::task<> wait_in_tasks() {
  latch done(2, "done");
  const auto late = co_await leat::as_tuple(leat::with_timeout(done.wait(), 1ms));
  std::printf("%s\n", late.error.message().c_str());  // deadline exceeded

  co_await leat::with_task_group([&done](leat::task_group& workers) -> leat::task<> {
    workers.spawn(work(done));
    workers.spawn(work(done));
    const auto first = co_await leat::select(done.wait(), leat::sleep_for(1s));
    std::printf("operation %zu was first\n", first.index());  // 0
  });
}
//! [/use]

leat::task<> wait_for(latch& l) { co_await l.wait(); }

leat::task<> dump_a_wait() {
  latch never(1, "never");
  co_await leat::with_task_group([&never](leat::task_group& waiting) -> leat::task<> {
    waiting.spawn(wait_for(never), "patient");
    co_await leat::sleep_for(1ms);
    leat::dump(std::cout);
    waiting.request_stop();
  });
}

// A thread and a handler wait, and another thread counts down.
bool wait_elsewhere() {
  latch last(1, "last");
  asio::io_context io;
  bool called = false;
  last.async_wait(asio::bind_executor(io, [&called](std::error_code ec) { called = !ec; }));
  std::jthread other([&last] { last.count_down(); });
  leat::block_on(last.wait(), 1s);
  io.run();
  return called;
}

int main() {
  const int status = leat::run([]() -> leat::task<> {
    co_await wait_in_tasks();
    co_await dump_a_wait();
  });
  try {
    return wait_elsewhere() ? status : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "own_operation: %s\n", e.what());
    return 1;
  }
}
