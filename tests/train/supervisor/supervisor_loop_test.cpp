// Loops of a supervisor. coordination/looper_test.cpp tests the looper itself.

#include <functional>

#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervised.hpp"

namespace supervisor_loop_test {

using leat::failure;
using leat::session;
using leat::supervisor;
using leat_test::in_world;
using leat_test::learner;
using seconds = std::vector<std::chrono::seconds>;

TEST_CASE("supervisor: a loop skips missed times and ends with the stop [41]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(l.options(""));
    session s = co_await sv.prepare_or_wait_for_session();
    const auto begin = w.now();
    seconds calls;
    sv.loop(10s, [&]() -> task<> {
      calls.push_back(std::chrono::duration_cast<std::chrono::seconds>(w.now() - begin));
      if (calls.size() == 1) co_await leat::sleep_for(25s);
    });
    co_await leat::sleep_for(52s);
    co_await sv.stop();
    co_await leat::sleep_for(1min);
    CHECK(calls == seconds{0s, 30s, 40s, 50s});  // and not 25, 25, 30
    co_await s.close();
  });
}

TEST_CASE("supervisor: an exception of a loop stops all, the end of input without an error [42]",
          "[train]") {
  for (const bool clean : {true, false}) {
    in_world([&](leat::sim::world& w) -> task<> {
      learner l;
      supervisor sv(l.options(""));
      const auto begin = w.now();
      int calls = 0;
      const std::function<task<>()> body = [&]() -> task<> {
        sv.loop(10s, [&]() -> task<> {
          if (++calls < 3) co_return;
          if (clean) throw failure(errc::out_of_range, "no more");
          throw std::runtime_error("a loop");
        });
        co_await leat::sleep_for(1h);
      };
      CHECK(co_await message_of(sv.managed(body)) == (clean ? "" : "a loop"));
      CHECK(calls == 3);
      CHECK(w.now() - begin < 21s);
    });
  }
}

TEST_CASE("supervisor: reports tasks that outlive the grace period, which can be joined later",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::supervisor_options o = l.options("");
    o.stop_grace = 10s;
    supervisor sv(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      sv.loop(
          1h,
          []() -> task<> {
            leat::task_group deaf(leat::shielded, "deaf");
            deaf.spawn([]() -> task<> { co_await leat::sleep_for(1min); }(), "sleep");
            co_await deaf.join();
          },
          "exporter");
      co_await leat::sleep_for(1s);
    };
    const std::string thrown = co_await message_of(sv.managed(body));
    CHECK(contains(thrown, "exporter"));
    CHECK(contains(l.warnings.back(), thrown));
    CHECK(contains(l.warnings.back(), "coord().join()"));
    co_await sv.coord().join();
  });
}

TEST_CASE("supervisor: never calls a loop that is started after the stop [43]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options(""));
    int calls = 0;
    const std::function<task<>()> body = [&]() -> task<> {
      sv.request_stop();
      sv.loop(10s, [&]() -> task<> {
        ++calls;
        co_return;
      });
      co_return;
    };
    co_await sv.managed(body);
    CHECK(calls == 0);
  });
}

TEST_CASE("supervisor: accepts intervals and grace periods of any length and unit", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    constexpr auto ever = std::chrono::hours::max();
    learner l;
    leat::supervisor_options o = l.options();
    o.save_model_interval = o.save_summaries_interval = o.stop_grace = o.saver.keep_every = ever;
    o.sessions.recovery_wait = ever;
    supervisor sv(o);
    leat::prepare_options preparing;
    preparing.max_wait = ever;
    session s = co_await sv.prepare_or_wait_for_session(preparing);
    int calls = 0;
    sv.loop(ever, [&]() -> task<> {
      ++calls;
      co_return;
    });
    co_await leat::sleep_for(24h);
    co_await sv.stop();
    CHECK(calls == 1);
    CHECK(l.warnings.empty());
    co_await s.close();
  });
}

}  // namespace supervisor_loop_test
