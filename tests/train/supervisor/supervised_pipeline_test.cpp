// A pipeline under a supervisor: whatever ends the program, and whenever, the model and the input
// have each element exactly once, in order, at the end.

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "support/effort.hpp"
#include "train/supervised.hpp"

namespace supervised_pipeline_test {

using namespace leat_test;
using leat::session;
using leat::supervisor;

auto lines() {
  return leat::read_files<leat::line_reader>(
             {.files = {"/in/*"}, .num_epochs = 2, .shuffle = true, .seed = 1, .interleave = 2})
      .map("text", [](std::string_view line) { return std::string(line); })
      .shuffle({.capacity = 10, .seed = 2})
      .prefetch(3);
}
using pipeline = decltype(lines());

// A program that is repeated until it has learnt everything.
struct program {
  program() : batches(lines()), state("lines") {
    state.add("learnt", learnt);
    state.add("input", batches);
  }
  leat::supervisor_options options() {
    leat::supervisor_options o;
    o.logdir = "/run";
    o.state = &state;
    o.write_events = false;
    o.saver.durable = false;
    o.on_warning = nullptr;  // of operations that a stop cancels
    o.save_model_interval = 7ms;
    o.global_step = [this] { return std::ranges::count(learnt, '\n'); };
    return o;
  }

  pipeline batches;
  std::string learnt;
  leat::checkpoint_registry state;
};

// Throws an error after a time, which grows with each start.
task<> end_badly(leat::duration after) {
  co_await leat::sleep_for(after);
  throw std::runtime_error("it ends here");
}

task<> learn_in_steps(program& p, supervisor& sv, leat::sim::world& w) {
  std::exception_ptr error;
  try {
    for (bool more = true; more;) {
      const auto here = co_await sv.step();
      auto line = co_await p.batches.next();
      more = line.has_value();
      if (!more) break;
      const std::string half = line->substr(0, line->size() / 2);
      p.learnt += half;
      co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(3000)));
      p.learnt += line->substr(half.size()) + '\n';
    }
  } catch (...) {
    error = std::current_exception();
  }
  co_await p.batches.stop();
  if (error) std::rethrow_exception(error);
}

task<> learn_at_once(program& p, leat::sim::world& w) {
  co_await p.batches.for_each([&](const std::string& line) -> task<> {
    p.learnt += line + '\n';
    co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(3000)));
  });
}

// Returns the learnt text, and counts the starts that it took.
task<std::string> learn_all(leat::sim::world& w, bool in_steps, int& starts) {
  for (leat::duration patience = 5ms;; patience += 5ms) {
    ++starts;
    auto p = std::make_unique<program>();
    auto sv = std::make_unique<supervisor>(p->options());
    const std::function<task<>()> body = [&]() -> task<> {
      sv->coord().spawn(end_badly(patience * static_cast<int>(1 + w.random().uniform_below(4))),
                        "end");
      task<> learning = in_steps ? learn_in_steps(*p, *sv, w) : learn_at_once(*p, w);
      co_await std::move(learning);
    };
    const std::string why = co_await message_of(sv->managed(body));
    if (why.empty()) co_return p->learnt;
    CHECK(why == "it ends here");
  }
}

TEST_CASE("supervisor: learns each element once if the program ends at any time", "[train]") {
  std::string expected;
  for (std::uint64_t seed = 1; seed <= scaled_count(60); ++seed) {
    leat::sim::world w(seed);
    for (char name = 'a'; name < 'd'; ++name) {
      std::string text;
      for (int i = 0; i < 12; ++i) text += name + std::to_string(100 + i) + '\n';
      w.files().write_file(std::string("/in/") + name, text);
    }
    int starts = 0;
    std::string learnt;
    w.run([&](leat::sim::world& here) -> task<> {
      learnt = co_await learn_all(here, seed % 2 == 0, starts);
    });
    if (expected.empty()) expected = learnt;
    CHECK(learnt == expected);
    CHECK(std::ranges::count(learnt, '\n') == 72);
  }
}

// Returns the values of a tag: at the beginning, and every ten seconds.
std::vector<float> values_of(const leat::event_run& run, const std::string& tag) {
  std::vector<float> values;
  for (const leat::scalar_point& p : run.series.scalars.at(tag)) {
    CHECK(p.step == static_cast<std::int64_t>(10 * values.size()));
    values.push_back(p.value);
  }
  return values;
}

TEST_CASE("supervisor: writes rates and waits of pipeline stages to the events", "[train]") {
  leat::sim::world w(1);
  std::string text;
  for (int i = 0; i < 200; ++i) text += "line " + std::to_string(100 + i) + '\n';
  w.files().write_file("/in/a", text);
  w.run([](leat::sim::world&) -> task<> {
    auto lines = leat::read_files<leat::line_reader>({.files = {"/in/*"}})
                     .map("text", [](std::string_view line) { return std::string(line); })
                     .shuffle({.capacity = 10, .seed = 2})
                     .prefetch(1);
    leat::fifo_queue<int> work(4, "work");
    CHECK(work.try_push(1));
    learner l;
    leat::supervisor_options o = l.options();
    o.save_summaries_interval = 10s;
    o.queues = {&work};
    o.stages = lines.stages();
    supervisor sv(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      co_await leat::sleep_for(500ms);
      while (l.step < 25) {  // one line per second; the last one at 24.5 s
        static_cast<void>(co_await lines.next());
        l.learn();
        co_await leat::sleep_for(1s);
      }
      co_await lines.stop();
    };
    co_await sv.managed(body);

    const leat::event_run run = co_await leat::read_events("/run");
    using floats = std::vector<float>;
    CHECK(values_of(run, "files/records_per_second") == floats{0, 20, 0});
    CHECK(values_of(run, "files/bytes_per_second") == floats{0, 160, 0});
    CHECK(values_of(run, "consumer/records_per_second") == floats{0, 1, 1});
    CHECK(values_of(run, "work/fraction_of_4_full") == floats{0.25F, 0.25F, 0.25F});
    CHECK(values_of(run, "global_step/sec") == floats{0, 1, 1});
    const floats room = values_of(run, "prefetch/waiting_for_room");
    CHECK(room.at(0) == 0);
    CHECK(room.at(1) > 0.9F);  // no task requested a line in the first half second
    CHECK(room.at(2) == 1);
    for (const char* const stage : {"files", "text", "shuffle", "prefetch", "consumer"}) {
      for (const char* const what :
           {"records_per_second", "bytes_per_second", "waiting_for_input", "waiting_for_room"}) {
        CHECK(run.series.scalars.at(std::string(stage) + "/" + what).size() == 3);
      }
    }
  });
  CHECK(w.files().open_files() == 0);
}

TEST_CASE("supervisor: does not start this service without stages and queues", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    const leat::fifo_queue<int> work(4, "work");
    for (const bool given : {false, true}) {
      leat::supervisor_options o = l.options(given ? "/with" : "/without");
      if (given) o.queues = {&work};
      supervisor sv(std::move(o));
      leat::prepare_options p;
      p.start_standard_services = false;
      session s = co_await sv.prepare_or_wait_for_session(p);
      const words started = co_await sv.start_standard_services();
      CHECK((std::ranges::count(started, "input") > 0) == given);
      co_await s.close();
      co_await sv.stop();
    }
  });
}

TEST_CASE("supervisor: stop() in its own task is rejected, request_stop() is not", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    std::string refused;
    const std::function<task<>()> body = [&]() -> task<> {
      sv.loop(1h, [&]() -> task<> {
        refused = co_await message_of(sv.stop());
        sv.request_stop();
      });
      co_await leat::sleep_for(10h);
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(contains(refused, "would wait for itself: call request_stop()"));
  });
}

TEST_CASE("supervisor: saves nothing without the lock", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor chief(l.options());
    co_await chief.managed([]() -> task<> { co_return; });
    const auto files = w.files().files();
    CHECK(contains(co_await message_of(chief.save()),
                   "the supervisor is not prepared or has stopped"));
    learner copy;
    leat::supervisor_options o = copy.options();
    o.is_chief = false;
    supervisor worker(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      CHECK(contains(co_await message_of(worker.save()), "set logdir and state of the chief"));
    };
    co_await worker.managed(body);
    CHECK(w.files().files() == files);
  });
}

TEST_CASE("supervisor: belongs to its new scheduler when it is used again", "[train]") {
  learner l;
  leat::sim::world first(1);
  auto sv = std::make_unique<supervisor>(l.options());
  first.run([&](leat::sim::world&) -> task<> {
    co_await sv->managed([&]() -> task<> {
      l.learn();
      co_return;
    });
  });
  leat::sim::world second(2);
  second.run([&](leat::sim::world& w) -> task<> {
    co_await sv->managed([&]() -> task<> {
      l.learn();
      co_return;
    });
    CHECK(leat_test::has_file(w, "/run/model.ckpt-2"));
  });
}

}  // namespace supervised_pipeline_test
