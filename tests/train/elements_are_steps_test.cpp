// pipeline::for_each() under a supervisor: each element that a coroutine processes is a step.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/io/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/train/supervisor.hpp"
#include "support/effort.hpp"
#include "train/supervised.hpp"

namespace elements_are_steps_test {

using namespace std::chrono_literals;
using leat::failure;
using leat::supervisor;
using leat::task;
using leat_test::contains;
using leat_test::has_file;
using leat_test::in_world;
using leat_test::some_of;
using leat_test::thrown_by;

constexpr int lines_in_all = 40;

auto lines() {
  return leat::read_files<leat::line_reader>({.files = {"/in/*"}})
      .map("text", [](std::string_view line) { return std::string(line); })
      .prefetch(3);
}

void write_input(leat::sim::world& w) {
  std::string text;
  for (int i = 0; i < lines_in_all; ++i) text += std::to_string(100 + i) + '\n';
  w.files().write_file("/in/a", text);
}

std::string all_learnt() {
  std::string text;
  for (int i = 0; i < lines_in_all; ++i) text += std::to_string(100 + i) + ';';
  return text;
}

// Learns half of an element before it waits, and half afterwards.
struct job {
  job() : batches(lines()), state("job") {
    state.add("global_step", step);
    state.add("learnt", learnt);
    state.add("input", batches);
  }

  leat::supervisor_options options() {
    leat::supervisor_options o;
    o.logdir = "/run";
    o.state = &state;
    o.write_events = false;
    o.save_model = 7s;
    o.on_warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    return o;
  }

  task<> learn(std::string line) {
    learnt += line.substr(0, 1);
    in_step = true;
    co_await leat::sleep_for(wait);
    in_step = false;
    learnt += line.substr(1) + ';';
    ++step;
  }

  task<> body() {
    co_await batches.for_each([this](std::string line) { return learn(std::move(line)); });
  }

  decltype(lines()) batches;
  std::int64_t step = 0;
  std::string learnt;
  leat::duration wait = 1s;
  bool in_step = false;
  std::vector<std::string> warnings;
  leat::checkpoint_registry state;
};

struct two_jobs {
  two_jobs() {
    a.state.add("other learnt", b.learnt);
    a.state.add("other input", b.batches);
  }
  job a;
  job b;
};

using stop_function = void (*)(supervisor& sv);
void stop_after_step(supervisor& sv) { sv.request_stop_after_step(); }
void stop_now(supervisor& sv) { sv.request_stop(); }

task<> stop_later(supervisor& sv, leat::duration wait, stop_function stop) {
  co_await leat::sleep_for(wait);
  stop(sv);
}

// Runs until everything is learnt; each run is stopped in the middle of an element.
task<int> learn_all(leat::sim::world& w, stop_function stop) {
  for (int runs = 1;; ++runs) {
    job j;
    j.wait = std::chrono::milliseconds(100 + w.random().below(3000));
    supervisor sv(j.options());
    leat::task_group other("other");
    other.spawn(stop_later(sv, std::chrono::milliseconds(w.random().below(9000)), stop));
    CHECK(co_await thrown_by(sv.managed([&] { return j.body(); })) == "");
    CHECK_FALSE(j.in_step);
    CHECK(j.warnings.empty());
    CHECK(j.learnt == all_learnt().substr(0, 4 * static_cast<std::size_t>(j.step)));
    const bool stopped = sv.stopped();
    other.request_stop();
    co_await other.join();
    if (!stopped) {
      CHECK(j.learnt == all_learnt());
      co_return runs;
    }
  }
}

TEST_CASE("supervisor: an element that is processed is finished before a stop takes effect") {
  for (const stop_function stop : {&stop_after_step, &stop_now}) {
    for (std::uint64_t seed = 1; seed <= some_of(20); ++seed) {
      leat::sim::world w(seed);
      write_input(w);
      w.run([&](leat::sim::world&) -> task<> { CHECK(co_await learn_all(w, stop) > 2); });
    }
  }
}

TEST_CASE("supervisor: a stop of its owner waits for the element, too, and the state is saved") {
  in_world([](leat::sim::world& w) -> task<> {
    write_input(w);
    job j;
    supervisor sv(j.options());
    leat::task_group owner("owner");
    owner.spawn(sv.managed([&] { return j.body(); }));
    co_await leat::sleep_for(2500ms);
    owner.request_stop();
    co_await owner.join();
    CHECK(sv.stopped());
    CHECK(j.step == 3);
    CHECK_FALSE(j.in_step);
    CHECK(has_file(w, "/run/model.ckpt-3"));
    CHECK(j.warnings.empty());
  });
}

TEST_CASE("supervisor: stop() of another task waits for the element, and the state is saved") {
  in_world([](leat::sim::world& w) -> task<> {
    write_input(w);
    job j;
    supervisor sv(j.options());
    leat::task_group other("other");
    other.spawn([](supervisor& stopped) -> task<> {
      co_await leat::sleep_for(2500ms);
      co_await stopped.stop();
    }(sv));
    CHECK(co_await thrown_by(sv.managed([&] { return j.body(); })) == "");
    co_await other.join();
    CHECK(j.step == 3);
    CHECK_FALSE(j.in_step);
    CHECK(has_file(w, "/run/model.ckpt-3"));
  });
}

TEST_CASE("supervisor: an element that outlasts step_grace is cancelled, and not saved") {
  in_world([](leat::sim::world& w) -> task<> {
    write_input(w);
    job j;
    j.wait = 1h;
    leat::supervisor_options o = j.options();
    o.step_grace = 1500ms;
    o.save_model = leat::duration::zero();
    supervisor sv(std::move(o));
    leat::task_group other("other");
    other.spawn(stop_later(sv, 5s, &stop_now));
    const auto begin = w.now();
    CHECK(co_await thrown_by(sv.managed([&] { return j.body(); })) == "");
    CHECK(w.now() - begin < 8s);
    co_await other.join();
    REQUIRE(j.warnings.size() == 2);
    CHECK(contains(j.warnings[0], "did not finish within 1.5 s"));
    CHECK(contains(j.warnings[1], "there is no last checkpoint"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-0"));
  });
}

TEST_CASE("supervisor: a second stop request does not lift the limit of an element") {
  for (const stop_function second : {&stop_now, &stop_after_step}) {
    in_world([second](leat::sim::world& w) -> task<> {
      write_input(w);
      job j;
      j.wait = 1h;
      supervisor sv(j.options());
      leat::task_group other("other");
      other.spawn(stop_later(sv, 5s, second == &stop_now ? &stop_after_step : &stop_now));
      other.spawn(stop_later(sv, 6s, second));
      const auto begin = w.now();
      CHECK(co_await thrown_by(sv.managed([&] { return j.body(); })) == "");
      CHECK(w.now() - begin < 20s);
      co_await other.join();
      CHECK(contains(j.warnings.at(0), "did not finish within 10 s"));
    });
  }
}

TEST_CASE("supervisor: the error of a service cancels an element") {
  in_world([](leat::sim::world& w) -> task<> {
    write_input(w);
    job j;
    j.wait = 5s;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      sv.coord().spawn([]() -> task<> {
        co_await leat::sleep_for(1s);
        throw failure(leat::errc::unavailable, "the service fails");
      });
      co_await j.body();
    };
    const auto begin = w.now();
    CHECK(co_await thrown_by(sv.managed(body)) == "the service fails: unavailable");
    CHECK(w.now() - begin < 2s);
    CHECK(j.in_step);
  });
}

TEST_CASE("supervisor: checkpoints are taken between two elements, while input is awaited, too") {
  for (std::uint64_t seed = 1; seed <= some_of(20); ++seed) {
    leat::sim::world w(seed);
    write_input(w);
    w.run([&](leat::sim::world&) -> task<> {
      const bool copies = w.random().below(2) == 0;
      int saves = 0;
      job j;
      j.wait = std::chrono::milliseconds(1 + w.random().below(3000));
      leat::supervisor_options o = j.options();
      o.save_model = std::chrono::milliseconds(500 + w.random().below(3000));
      o.saver.copy_values = copies;
      o.on_saved = [&](std::string path, std::optional<std::int64_t> step) -> task<> {
        ++saves;
        job saved;
        leat::saver s = co_await leat::saver::open("/run", saved.state, {.adopt_listed = false});
        co_await s.restore(path);
        CHECK(saved.step == step);
        CHECK(saved.learnt == all_learnt().substr(0, 4 * static_cast<std::size_t>(saved.step)));
        const std::optional<std::string> next = co_await saved.batches.next();
        CHECK(next.has_value() == (saved.step < lines_in_all));
        if (next) CHECK(*next == std::to_string(100 + saved.step));
        co_await saved.batches.stop();
      };
      supervisor sv(std::move(o));
      CHECK(co_await thrown_by(sv.managed([&] { return j.body(); })) == "");
      CHECK(j.learnt == all_learnt());
      CHECK(saves > 3);
    });
  }
}

TEST_CASE("supervisor: an element may save, and the clean end of a run by an error is saved") {
  in_world([](leat::sim::world& w) -> task<> {
    write_input(w);
    job j;
    leat::supervisor_options o = j.options();
    o.save_model = 1ms;  // wants to save all the time
    supervisor sv(std::move(o));
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) -> task<> {
        co_await j.learn(std::move(line));
        if (j.step == 5) co_await sv.save();
        if (j.step == 8) co_await sv.save_between_steps();
        if (j.step == 11) throw failure(leat::errc::out_of_range, "enough");
      });
    };
    CHECK(co_await thrown_by(sv.managed(body)) == "");
    CHECK(j.warnings.empty());
    CHECK(has_file(w, "/run/model.ckpt-11"));
  });
}

TEST_CASE("supervisor: a body that calls step() within for_each() marks the steps itself") {
  in_world([](leat::sim::world& w) -> task<> {
    write_input(w);
    job j;
    supervisor sv(j.options());
    leat::task_group other("other");
    other.spawn(stop_later(sv, 20500ms, &stop_after_step));
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) -> task<> {
        const auto here = co_await sv.step();
        co_await j.learn(std::move(line));
      });
    };
    CHECK(co_await thrown_by(sv.managed(body)) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(j.step == 21);
    CHECK_FALSE(j.in_step);
    CHECK(has_file(w, "/run/model.ckpt-21"));
    CHECK(j.warnings.empty());
  });
}

TEST_CASE("supervisor: two pipelines are stopped and saved when neither processes an element") {
  for (std::uint64_t seed = 1; seed <= some_of(20); ++seed) {
    leat::sim::world w(seed);
    write_input(w);
    w.run([&](leat::sim::world&) -> task<> {
      two_jobs both;
      both.a.wait = std::chrono::milliseconds(1 + w.random().below(3000));
      both.b.wait = std::chrono::milliseconds(1 + w.random().below(3000));
      leat::supervisor_options o = both.a.options();
      o.on_saved = [](std::string path, std::optional<std::int64_t>) -> task<> {
        two_jobs saved;
        leat::saver s = co_await leat::saver::open("/run", saved.a.state, {.adopt_listed = false});
        co_await s.restore(path);
        for (const job* j : {&saved.a, &saved.b}) {
          CHECK(all_learnt().starts_with(j->learnt));
          CHECK(j->learnt.size() % 4 == 0);
        }
      };
      supervisor sv(std::move(o));
      leat::task_group other("other");
      const auto wait = std::chrono::milliseconds(w.random().below(30000));
      other.spawn(stop_later(sv, wait, w.random().below(2) ? &stop_now : &stop_after_step));
      const auto body = [&]() -> task<> {
        co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
          group.spawn(both.a.body());
          group.spawn(both.b.body());
          co_return;
        });
      };
      CHECK(co_await thrown_by(sv.managed(body)) == "");
      other.request_stop();
      co_await other.join();
      CHECK_FALSE(both.a.in_step);
      CHECK_FALSE(both.b.in_step);
      CHECK(both.a.warnings.empty());
    });
  }
}

}  // namespace elements_are_steps_test
