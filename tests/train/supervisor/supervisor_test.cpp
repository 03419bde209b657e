// The life of a supervisor: where it behaves like TensorFlow's, and where it differs.

#include "leat/train/supervisor/supervisor.hpp"

#include <map>

#include "leat/input/input_producer.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "train/supervised.hpp"

namespace supervisor_test {

using namespace leat_test;
using leat::failure;
using leat::session;
using leat::supervisor;

TEST_CASE("supervisor: prepares, runs steps and stops, twice [1, 5]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    for (int round = 0; round < 2; ++round) {
      session s = co_await sv.prepare_or_wait_for_session();
      CHECK_FALSE(sv.should_stop());
      for (int i = 0; i < 10; ++i) l.learn();
      co_await s.close();
      co_await sv.stop();
      CHECK(sv.should_stop());
      co_await sv.stop();  // harmless
    }
    CHECK(l.step == 20);
  });
}

TEST_CASE("supervisor: stops all tasks when the body ends [2]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    co_await sv.managed([&]() -> task<> {
      for (int i = 0; i < 10; ++i) l.learn();
      co_return;
    });
    CHECK(sv.should_stop());
    CHECK(l.step == 10);
  });
}

TEST_CASE("supervisor: managed() throws the exception of the body [3]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    int last = -1;
    const std::string what = co_await message_of(sv.managed([&]() -> task<> {
      for (int i = 0; i < 10; ++i) {
        last = i;
        if (i == 1) throw std::runtime_error("failing here");
        co_await leat::this_task::yield();
      }
    }));
    CHECK(what == "failing here");
    CHECK(last == 1);
    CHECK(sv.should_stop());
  });
}

TEST_CASE("supervisor: a worker is ready at once, twice [6]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    leat::supervisor_options o;
    o.is_chief = false;
    supervisor sv(std::move(o));
    for (int round = 0; round < 2; ++round) {
      session s = co_await sv.prepare_or_wait_for_session();
      CHECK_FALSE(sv.should_stop());
      co_await s.close();
      co_await sv.stop();
      CHECK(sv.should_stop());
    }
  });
}

TEST_CASE("supervisor: does not throw an error of an earlier run [7]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    CHECK(co_await message_of(sv.managed([]() -> task<> {
            throw std::runtime_error("once");
            co_return;
          })) == "once");
    CHECK(co_await message_of(sv.managed([]() -> task<> { co_return; })) == "");
  });
}

TEST_CASE("supervisor: keeps an error after a clean stop and warns [9]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    CHECK(co_await message_of(sv.managed([&]() -> task<> {
            sv.request_stop();
            throw std::runtime_error("too late");
            co_return;
          })) == "");
    CHECK(sv.coord().secondary_errors().size() == 1);
    REQUIRE(l.warnings.size() == 1);
    CHECK(contains(l.warnings[0], "error after a clean stop: too late"));
  });
}

TEST_CASE("supervisor: throws an error after a clean stop with throw_after_clean_stop [9]",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.throw_after_clean_stop = true;
    o.save_model_interval = 0s;
    supervisor sv(std::move(o));
    const std::function<task<>()> fail = [&]() -> task<> {
      sv.request_stop();
      throw std::runtime_error("too late");
      co_return;
    };
    CHECK(co_await message_of(sv.managed(fail)) == "too late");
    CHECK(sv.coord().secondary_errors().size() == 1);
    REQUIRE(l.warnings.size() == 1);
    CHECK(contains(l.warnings[0], "error after a clean stop: too late"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-0"));
    // A clean stop is not an error, and neither are the waits that it cancels.
    const std::function<task<>()> end = [&]() -> task<> {
      sv.loop(1s, []() -> task<> {
        throw failure(errc::out_of_range, "no more");
        co_return;
      });
      co_await leat::sleep_for(1h);
    };
    CHECK(co_await message_of(sv.managed(end)) == "");
    CHECK(l.warnings.size() == 1);
  });
}

TEST_CASE("supervisor: throws an error after stop() [10]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    CHECK(co_await message_of(sv.managed([&]() -> task<> {
            co_await sv.stop();
            throw std::runtime_error("behind it");
          })) == "behind it");
  });
}

TEST_CASE("supervisor: throws aborted, and a retry resumes from the checkpoint [11]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    std::vector<std::int64_t> begun;
    int attempts = 0;
    const std::function<task<>()> attempt = [&]() -> task<> {
      learner l;
      supervisor sv(l.options());
      const std::function<task<>()> body = [&]() -> task<> {
        begun.push_back(l.step);
        for (int i = 0; i < 5; ++i) {
          l.learn();
          co_await leat::sleep_for(1s);
        }
        co_await sv.save();
        l.learn();  // lost
        if (++attempts < 3) throw failure(errc::aborted, "a peer has gone");
      };
      co_await sv.managed(body);
      CHECK(l.step == 16);
    };
    co_await leat::retry(attempt);
    CHECK((begun == std::vector<std::int64_t>{0, 5, 10}));
  });
}

TEST_CASE("supervisor: leaves nothing open if the start fails [13]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    int open = 0;
    o.sessions.open = [&]() -> task<session> {
      ++open;
      co_return session(nullptr, [&]() -> task<void> {
        --open;
        co_return;
      });
    };
    o.sessions.ready = [](session&) -> task<words> {
      words missing(1, "w");
      co_return missing;
    };
    supervisor sv(std::move(o));
    const std::string why = co_await message_of(sv.managed([]() -> task<> { co_return; }));
    CHECK(contains(why, "did not make model ready. Variables not initialized: w"));
    CHECK(open == 0);
    CHECK_FALSE(has_file(w, "/run/checkpoint"));  // a state that is not ready is not saved
  });
}

TEST_CASE("supervisor: a stop ends the wait of a service at once [14]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(l.options());
    const auto begin = w.now();
    co_await sv.managed([&]() -> task<> {
      sv.loop(10min, []() -> task<void> { co_return; });
      co_await leat::sleep_for(1min);
      sv.request_stop();
    });
    CHECK(w.now() - begin < 2min);
  });
}

TEST_CASE("supervisor: a second stop() writes nothing [15]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(l.options());
    session s = co_await sv.prepare_or_wait_for_session();
    co_await s.close();
    co_await sv.stop();
    co_await sv.stop();
    const words all = leat_test::events_in_words(w);
    CHECK(std::ranges::count(all, "STOP") == 1);
  });
}

TEST_CASE("supervisor: chained producers deliver all items or the error [17, 18]", "[train]") {
  for (const bool fails : {false, true}) {
    in_world([&](leat::sim::world&) -> task<> {
      leat::string_input_producer numbers({"0", "1", "2"}, {.num_epochs = 3, .shuffle = false});
      leat::random_shuffle_queue<std::string> mixed(
          {.capacity = 6, .min_after_dequeue = 4, .seed = 1, .name = "mixed"});
      leat::queue_runner mixing(mixed);
      mixing.add([&]() -> task<bool> {
        std::optional<std::string> next = co_await numbers.queue().pop();
        if (!next) co_return false;
        co_return co_await mixed.push(std::move(*next));
      });
      leat::queue_runner_collection runners;
      runners.add(numbers.runner());
      runners.add(mixing);
      learner l;
      leat::supervisor_options o = l.options();
      o.runners = &runners;
      supervisor sv(std::move(o));
      std::map<std::string, int> seen;
      const std::function<task<>()> body = [&]() -> task<> {
        while (auto next = co_await mixed.pop()) {
          ++seen[*next];
          l.learn();
          if (fails && l.step == 3) throw std::runtime_error("fail at step 3");
        }
      };
      const std::string what = co_await message_of(sv.managed(body));
      if (fails) {
        CHECK(what == "fail at step 3");
      } else {
        CHECK(what == "");
        CHECK((seen == std::map<std::string, int>{{"0", 3}, {"1", 3}, {"2", 3}}));
      }
    });
  }
}

TEST_CASE("supervisor: accepts no queue runners and an empty list [19]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    leat::queue_runner_collection none;
    learner l;
    supervisor sv(l.options());
    session s = co_await sv.prepare_or_wait_for_session();
    CHECK(sv.start_queue_runners(&none).empty());
    CHECK(sv.start_queue_runners().empty());
    co_await s.close();
    co_await sv.stop();
  });
}

TEST_CASE("supervisor: an error of a service ends the body and is thrown", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(l.options());
    const auto begin = w.now();
    bool cancelled = false;
    const std::function<task<>()> body = [&]() -> task<> {
      sv.loop(1min, [n = 0]() mutable -> task<void> {
        if (++n == 3) throw std::runtime_error("a service");
        co_return;
      });
      try {
        co_await leat::sleep_for(10h);
      } catch (const failure& e) {
        cancelled = e.code() == errc::cancelled;
        throw std::runtime_error("later, and so secondary");
      }
    };
    CHECK(co_await message_of(sv.managed(body)) == "a service");
    CHECK(cancelled);
    CHECK(w.now() - begin < 3min);
  });
}

TEST_CASE("supervisor: end of input is a clean end", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    CHECK(co_await message_of(sv.managed([&]() -> task<> {
            l.learn();
            throw failure(errc::out_of_range, "no more");
            co_return;
          })) == "");
    learner again;
    supervisor other(again.options());
    co_await other.managed([&]() -> task<> {
      CHECK(again.step == 1);  // it was saved at the end
      co_return;
    });
  });
}

TEST_CASE("supervisor: calls at_end before the final checkpoint", "[train]") {
  for (const std::string error : {"", "body", "at_end"}) {
    in_world([&](leat::sim::world& w) -> task<> {
      learner l;
      leat::supervisor_options o = l.options();
      o.save_model_interval = 0s;
      bool called = false;
      o.at_end = [&]() -> task<> {
        CHECK_FALSE(has_file(w, "/run/model.ckpt-2"));
        co_await leat::sleep_for(1s);
        l.learn();
        called = true;
        if (error == "at_end") throw std::runtime_error(error);
      };
      supervisor sv(std::move(o));
      const std::function<task<>()> body = [&]() -> task<> {
        l.learn();
        if (error == "body") throw std::runtime_error(error);
        co_return;
      };
      CHECK(co_await message_of(sv.managed(body)) == error);
      CHECK(called == (error != "body"));
      CHECK(has_file(w, "/run/model.ckpt-2") == error.empty());
    });
  }
}

TEST_CASE("supervisor: saves a final checkpoint after an outside stop", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    bool cancelled = false;
    const std::function<task<>()> work = [&]() -> task<> {
      supervisor sv(l.options());
      const std::function<task<>()> body = [&]() -> task<> {
        for (;;) {
          co_await leat::sleep_for(1s);
          l.learn();
        }
      };
      try {
        co_await sv.managed(body);
      } catch (const failure& e) {
        cancelled = e.code() == errc::cancelled;
        throw;
      }
    };
    leat::task_group group;
    group.spawn(work());
    co_await leat::sleep_for(90500ms);
    group.request_stop();
    co_await group.join();
    CHECK(cancelled);
    CHECK(l.step == 90);
    CHECK(has_file(w, "/run/model.ckpt-90"));
  });
}

TEST_CASE("supervisor: saves nothing during a step", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.save_model_interval = 3s;
    supervisor sv(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      for (int i = 0; i < 20; ++i) {
        const auto here = co_await sv.step();
        ++l.step;
        co_await leat::sleep_for(700ms);
        l.weight += 0.5;
      }
      const auto here = co_await sv.step();
      ++l.step;
      CHECK(contains(co_await message_of(sv.save()), "save() called during a step"));
      throw failure(errc::out_of_range, "in the midst of it");
    };
    co_await sv.managed(body);
    learner again;
    supervisor other(again.options());
    co_await other.managed([&]() -> task<> {
      CHECK(again.step > 10);
      CHECK(again.step < 21);
      CHECK(again.weight == 1 + 0.5 * static_cast<double>(again.step));
      co_return;
    });
  });
}

TEST_CASE("supervisor: rejects two chiefs of one directory", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner one;
    learner two;
    supervisor first(one.options());
    supervisor second(two.options());
    const std::function<task<>()> body = [&]() -> task<> {
      CHECK(contains(co_await message_of(second.managed([]() -> task<> { co_return; })), "/run"));
    };
    co_await first.managed(body);
    CHECK(co_await message_of(second.managed([]() -> task<> { co_return; })) == "");
  });
}

TEST_CASE("supervisor: a worker continues after the chief saved", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner chief;
    chief.weight = 42;
    learner worker;
    leat::supervisor_options o = worker.options();
    o.is_chief = false;
    supervisor late(std::move(o));
    CHECK(late.logdir().empty());
    CHECK(late.save_path().empty());
    leat::task_group group;
    const std::function<task<>()> wait = [&]() -> task<> {
      co_await late.managed([&]() -> task<> {
        CHECK(worker.weight == 42);
        co_return;
      });
    };
    group.spawn(wait());
    co_await leat::sleep_for(5min);
    CHECK(w.files().files().empty());
    supervisor sv(chief.options());
    co_await sv.managed([]() -> task<> { co_return; });
    co_await group.join();
    CHECK(worker.weight == 42);
  });
}

TEST_CASE("supervisor: rejects invalid options", "[train]") {
  learner l;
  leat::supervisor_options o = l.options("");
  o.is_chief = false;
  CHECK_FAILS(errc::invalid_argument, "worker with state but without logdir would never be ready",
              supervisor(o));
  o.is_chief = true;
  o.save_model_interval = -1s;
  CHECK_FAILS(errc::invalid_argument,
              "save_model_interval is negative: set 0 to disable periodic checkpoints",
              supervisor(o));
  o.save_model_interval = 0s;
  o.step_grace = -1s;
  CHECK_FAILS(errc::invalid_argument, "step_grace is negative: set 0 or more", supervisor(o));
}

}  // namespace supervisor_test
