// A loop that tries an operation again and again after a stop lets other tasks run.

#include <functional>

#include <asio/steady_timer.hpp>

#include "support/leat_test.hpp"

namespace stopped_loop_test {

constexpr int attempts = 5000;
constexpr int attempts_in_a_turn = 256;

task<> count_turns(int& turns, const bool& over) {
  while (!over) {
    co_await leat::this_task::yield();
    ++turns;
  }
}

task<> try_again(const std::function<task<>()>& attempt, bool& over) {
  for (int i = 0; i < attempts; ++i) co_await attempt();
  over = true;
}

// Returns the number of turns of another task meanwhile.
task<int> turns_after_stop(const std::function<task<>()>& attempt) {
  int turns = 0;
  bool over = false;
  task_group stopped;
  task_group others;
  stopped.spawn(try_again(attempt, over));
  stopped.request_stop();
  others.spawn(count_turns(turns, over));
  co_await stopped.join();
  co_await others.join();
  co_return turns;
}

task<> sleep_long() { co_await leat::sleep_for(1h); }

LEAT_REAL_TIME_TEST("a loop that ignores a stop lets other tasks run") {
  asio::steady_timer timer(leat::get_executor(leat::this_task::get_scheduler()), 1h);

  struct operation {
    const char* name;
    std::function<task<>()> attempt;
  };
  const operation all[] = {
      {"sleep", []() -> task<> { co_await leat::as_tuple(leat::sleep_for(1h)); }},
      {"limit",
       []() -> task<> { co_await leat::as_tuple(leat::with_timeout(leat::sleep_for(1h), 2h)); }},
      {"select",
       []() -> task<> {
         co_await leat::as_tuple(leat::select(leat::sleep_for(1h), leat::sleep_for(2h)));
       }},
      {"select with an Asio operation",
       [&]() -> task<> {
         co_await leat::as_tuple(
             leat::select(leat::sleep_for(1h), timer.async_wait(leat::use_task)));
       }},
      {"Asio operation",
       [&]() -> task<> { co_await leat::as_tuple(timer.async_wait(leat::use_task)); }},
      {"run_blocking", []() -> task<> { co_await leat::as_tuple(leat::run_blocking([] {})); }},
      {"limited task",
       []() -> task<> { co_await leat::as_tuple(leat::with_timeout(sleep_long(), 2h)); }},
  };
  for (const operation& o : all) {
    INFO(o.name);
    CHECK(co_await turns_after_stop(o.attempt) >= attempts / attempts_in_a_turn);
  }
}

}  // namespace stopped_loop_test
