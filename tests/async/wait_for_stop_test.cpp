#include "leat/async/wait_for_stop.hpp"

#include <stop_token>
#include <thread>

#include "async/task_steps.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace wait_for_stop_test {

leat_test::foreign_coroutine note_stop(std::stop_token token, bool& stopped) {
  co_await leat::wait_for_stop(token);
  stopped = true;
}

leat_test::foreign_coroutine nap_until_stop(std::stop_token token, std::string& what) {
  try {
    co_await leat::with_stop(leat::sleep_for(1h), token);
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::cancelled);
    what = e.what();
  }
}

leat_test::foreign_coroutine choose(std::stop_token token, std::size_t& index) {
  const auto done = co_await leat::select(leat::sleep_for(1s), leat::wait_for_stop(token));
  index = done.index();
}

LEAT_TEST("wait_for_stop: ends with a request before or during the wait") {
  for (const bool before : {true, false}) {
    std::stop_source source;
    if (before) source.request_stop();
    task_group group;
    bool stopped = false;
    group.spawn([](std::stop_token token, bool& out) -> task<> {
      co_await leat::wait_for_stop(token);
      out = true;
    }(source.get_token(), stopped));
    co_await leat::sleep_for(1s);
    CHECK(stopped == before);
    source.request_stop();
    co_await group.join();
    CHECK(stopped);
  }
}

LEAT_TEST("wait_for_stop: a stop of the waiting task cancels it") {
  for (const bool before : {true, false}) {
    std::stop_source source;
    std::error_code code;
    const auto wait = [&]() -> task<> {
      code = co_await code_of(leat::wait_for_stop(source.get_token()));
    };
    co_await task_steps::run_and_stop(wait(), before);
    CHECK(code == errc::cancelled);
    source.request_stop();  // no task waits for it any more
  }
}

LEAT_TEST("wait_for_stop: a foreign coroutine can wait and be destroyed during the wait") {
  std::stop_source source;
  bool stopped = false;
  bool never = false;
  const auto f = note_stop(source.get_token(), stopped);
  const auto gone = note_stop(source.get_token(), never);
  gone.handle.destroy();
  source.request_stop();
  CHECK_FALSE(stopped);  // the wait resumes later, not inside the request
  co_await leat::sleep_for(1ms);
  CHECK(stopped);
  CHECK_FALSE(never);
  f.handle.destroy();
}

LEAT_TEST("with_stop: its token cancels a foreign coroutine") {
  for (const bool before : {true, false}) {
    std::stop_source source;
    std::string what;
    if (before) source.request_stop();
    const auto f = nap_until_stop(source.get_token(), what);
    CHECK(what.empty() == !before);
    source.request_stop();
    co_await leat::sleep_for(1ms);
    CHECK(what.starts_with("a timer: stopped without effect"));
    f.handle.destroy();
  }
}

LEAT_TEST("with_stop: returns the result of an operation that completes first") {
  std::stop_source source;
  co_await leat::with_stop(leat::sleep_for(1s), source.get_token());
  source.request_stop();
  co_await leat::sleep_for(1s);
}

LEAT_TEST("select: a stop is one of the operations") {
  for (const bool stop : {true, false}) {
    std::stop_source source;
    std::size_t index = 9;
    const auto f = choose(source.get_token(), index);
    if (stop) source.request_stop();
    co_await leat::sleep_for(2s);
    CHECK(index == (stop ? 1 : 0));
    f.handle.destroy();
  }
}

LEAT_TEST("select: a coroutine destroyed while it waits leaves no timer and no callback") {
  std::stop_source source;
  std::size_t index = 9;
  const auto f = choose(source.get_token(), index);
  f.handle.destroy();
  source.request_stop();
  co_await leat::sleep_for(2s);
  CHECK(index == 9);
}

TEST_CASE("wait_for_stop: a stop on another thread ends the wait") {
  for (int i = 0; i < 200; ++i) {
    leat::runtime rt;
    std::stop_source source;
    std::jthread stopper([&] { source.request_stop(); });
    rt.block_on([](std::stop_token token) -> task<> {
      const auto done = co_await leat::select(leat::wait_for_stop(token), leat::sleep_for(1h));
      CHECK(done.index() == 0);
      co_await leat::wait_for_stop(token);
    }(source.get_token()));
  }
}

}  // namespace wait_for_stop_test
