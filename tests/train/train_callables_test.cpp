// Each interface of training that calls a function of the program accepts each kind of callable.

#include "leat/train/summary/event_writer.hpp"
#include "support/callables.hpp"
#include "train/monitored/monitored.hpp"

namespace train_callables_test {

using namespace leat_test;

int calls = 0;

task<> call() {
  ++calls;
  co_return;
}
task<int> call_for_value() { co_return ++calls; }
task<> call_with_session(leat::session&) { return call(); }
task<> call_with_run(leat::run_context&) { return call(); }
task<> call_with_monitored(leat::monitored_session&) { return call(); }
task<> call_with_writer(leat::event_writer&) { return call(); }

/// Returns the tasks that `make` creates from each kind of callable that calls F, and 0 calls.
template <auto F, class Make>
std::vector<task<>> each_task(Make make) {
  calls = 0;
  std::vector<task<>> tasks;
  with_each_callable<F>(
      [&]<class Body>(Body&& body) { tasks.push_back(make(std::forward<Body>(body))); });
  return tasks;
}

TEST_CASE("supervisor: loop() and managed() accept each kind of callable", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    {
      calls = 0;
      leat::supervisor sv(l.options(""));
      leat::session s = co_await sv.prepare_or_wait_for_session();
      with_each_callable<call>(
          [&]<class Body>(Body&& body) { sv.loop(1h, std::forward<Body>(body)); });
      co_await leat::sleep_for(1s);
      CHECK(calls == callable_kinds);
      co_await sv.stop();
      co_await s.close();
    }
    std::vector<std::unique_ptr<leat::supervisor>> all;
    const auto managed = [&]<class Body>(Body&& body) {
      all.push_back(std::make_unique<leat::supervisor>(l.options("")));
      return all.back()->managed(std::forward<Body>(body));
    };
    for (task<>& t : each_task<call>(managed)) co_await std::move(t);
    CHECK(calls == callable_kinds);
    for (task<>& t : each_task<call_with_session>(managed)) co_await std::move(t);
    CHECK(calls == callable_kinds);
  });
}

TEST_CASE("monitored_session: run() and managed() accept each kind of callable", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    {
      leat::monitored_session s(l.monitored(""));
      co_await s.open();
      const auto run = [&]<class Step>(Step&& step) { return s.run(std::forward<Step>(step)); };
      for (task<>& t : each_task<call>(run)) co_await std::move(t);
      CHECK(calls == callable_kinds);
      for (task<>& t : each_task<call_with_run>(run)) co_await std::move(t);
      CHECK(calls == callable_kinds);
      const auto run_for_value = [&]<class Step>(Step&& step) -> task<> {
        auto running = s.run(std::forward<Step>(step));
        return [](task<int> t) -> task<> { co_await std::move(t); }(std::move(running));
      };
      for (task<>& t : each_task<call_for_value>(run_for_value)) co_await std::move(t);
      CHECK(calls == callable_kinds);
      co_await s.close();
    }
    std::vector<std::unique_ptr<leat::monitored_session>> all;
    const auto managed = [&]<class Body>(Body&& body) {
      all.push_back(std::make_unique<leat::monitored_session>(l.monitored("")));
      return all.back()->managed(std::forward<Body>(body));
    };
    for (task<>& t : each_task<call>(managed)) co_await std::move(t);
    CHECK(calls == callable_kinds);
    for (task<>& t : each_task<call_with_monitored>(managed)) co_await std::move(t);
    CHECK(calls == callable_kinds);
  });
}

TEST_CASE("with_event_writer: accepts each kind of callable", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    const auto write = []<class Body>(Body&& body) {
      return leat::with_event_writer("/run", std::forward<Body>(body));
    };
    for (task<>& t : each_task<call_with_writer>(write)) co_await std::move(t);
    CHECK(calls == callable_kinds);
  });
}

}  // namespace train_callables_test
