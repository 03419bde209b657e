// The events that supervisors write, and the processes that write them. The program supplies the
// graph.

#include "leat/train/summary/event_reader.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervised.hpp"

namespace supervisor_events_test {

using namespace leat_test;
using leat::session;
using leat::summary;
using leat::supervisor;

leat::supervisor_options with_graph(leat::supervisor_options o) {
  o.graph_def = "graph";
  o.meta_graph_def = "meta";
  return o;
}

summary three_values() {
  summary s;
  s.add_scalar("c1", 1).add_scalar("c2", 2).add_scalar("c3", 3);
  return s;
}

TEST_CASE("supervisor: writes the events in order, once for each scope [21, 25, 27]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    leat::supervisor_options o = with_graph({});
    o.logdir = "/run";
    supervisor sv(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      co_await sv.summary_computed(three_values());
    };
    co_await sv.managed(body);
    const words once{"version", "graph", "meta graph", "c1,c2,c3", "STOP"};
    CHECK(events_in_words(w) == once);
    co_await sv.managed(body);
    words twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    CHECK(events_in_words(w) == twice);
    CHECK_FALSE(has_file(w, "/run/checkpoint"));

    auto writer = co_await leat::event_writer::open("/other");
    leat::supervisor_options given = with_graph({});
    given.writer = &writer;
    supervisor without(std::move(given));
    const std::function<task<>()> same = [&]() -> task<> {
      co_await without.summary_computed(three_values());
    };
    co_await without.managed(same);
    CHECK(events_in_words(w, "/other") == once);
  });
}

TEST_CASE("supervisor: events in a directory of their own", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.summary_dir = "/summaries";
    supervisor sv(std::move(o));
    co_await sv.managed([&]() -> task<> {
      l.learn();
      co_return;
    });
    CHECK(events_in_words(w).empty());
    CHECK(has_file(w, "/run/model.ckpt-1"));
    const words written = events_in_words(w, "/summaries");
    REQUIRE(written.size() > 2);
    CHECK(written[1] == "START");

    leat::supervisor_options without = l.options("");
    without.summary_dir = "/alone";
    supervisor no_checkpoints(std::move(without));
    const std::function<task<>()> body = [&]() -> task<> {
      co_await no_checkpoints.summary_computed(three_values(), 7);
    };
    co_await no_checkpoints.managed(body);
    const words alone = events_in_words(w, "/alone");
    CHECK(std::ranges::count(alone, "c1,c2,c3 7") == 1);
  });
}

TEST_CASE("supervisor: a worker and a chief without logdir have no writer [22, 23, 26]",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    leat::supervisor_options o;
    o.is_chief = false;
    supervisor worker(std::move(o));
    CHECK(contains(co_await message_of(worker.summary_computed(three_values())), "summary writer"));
    CHECK(contains(co_await message_of(worker.start_standard_services()), "only the chief"));

    learner l;
    supervisor alone(l.options(""));
    session s = co_await alone.prepare_or_wait_for_session();
    CHECK(contains(co_await message_of(alone.summary_computed(three_values())),
                   "requires a summary writer"));
    const words started = co_await alone.start_standard_services();
    CHECK(started.empty());
    CHECK(contains(l.warnings.at(0), "logdir is not set"));
    co_await s.close();
    co_await alone.stop();
  });
}

TEST_CASE("supervisor: runs services without a step [29]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    double foo = 1;
    leat::checkpoint_registry state;
    state.add("foo", foo);
    leat::supervisor_options o = with_graph({});
    o.logdir = "/run";
    o.state = &state;
    o.summaries = [] { return summary().add_scalar("v", 1); };
    supervisor sv(std::move(o));
    co_await sv.managed([]() -> task<> { co_await leat::sleep_for(3s); });
    CHECK((events_in_words(w) == words{"version", "graph", "meta graph", "v", "STOP"}));
    CHECK(has_file(w, "/run/model.ckpt"));
    foo = 2;
    co_await sv.managed([&]() -> task<> {
      CHECK(foo == 1);
      CHECK(sv.restored_from() == "/run/model.ckpt");
      co_return;
    });
  });
}

TEST_CASE("supervisor: runs services with a step [30, 31]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    l.step = 123;
    supervisor sv(with_graph(l.options()));
    co_await sv.managed([&]() -> task<> {
      co_await leat::sleep_for(3s);
      CHECK(has_file(w, "/run/model.ckpt-123"));
    });
    words all = events_in_words(w);
    REQUIRE(all.size() == 7);
    std::sort(all.begin() + 4, all.begin() + 6);
    CHECK((all == words{"version", "graph", "meta graph", "START 123", "CHECKPOINT 123",
                        "global_step/sec 123", "STOP"}));
    for (const std::string& path : w.files().files()) {
      if (path.find("tfevents") == std::string::npos) continue;
      for (const auto& e : leat_test::events_in(w.files().read_file(path).value())) {
        if (const auto* const log = std::get_if<leat::session_log>(&e.what);
            log && log->status == leat::session_log::checkpoint) {
          CHECK(log->checkpoint_path == "/run/model.ckpt");
          CHECK(log->message == "/run/model.ckpt-123");
        }
        if (const auto* const s = std::get_if<summary>(&e.what)) {
          CHECK(std::get<float>(s->values.at(0).value) == 0.0F);
        }
      }
    }
  });
}

TEST_CASE("supervisor: writes steps per second [33, 34]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    std::int64_t step = 100;
    leat::checkpoint_registry state;
    state.add("bar/foo", step);
    leat::supervisor_options o;
    o.logdir = "/run";
    o.state = &state;
    o.global_step_name = "bar/foo";
    supervisor sv(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      co_await leat::sleep_for(60s);
      step = 340;
      co_await leat::sleep_for(61s);
    };
    co_await sv.managed(body);
    static_cast<void>(w);
    const leat::event_run run = co_await leat::read_events("/run");
    const auto& rates = run.series.scalars.at("bar/foo/sec");
    REQUIRE(rates.size() == 2);
    CHECK(rates[0].value == 0.0F);
    CHECK(rates[1].step == 340);
    CHECK(rates[1].value == 2.0F);
  });
}

TEST_CASE("supervisor: a worker writes nothing for any options [35]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    auto writer = co_await leat::event_writer::open("/other");
    leat::supervisor_options o = l.options("/T");
    o.is_chief = false;
    o.writer = &writer;
    o.state = nullptr;
    o.save_model_interval = 1s;
    supervisor sv(std::move(o));
    CHECK(sv.logdir().empty());
    CHECK(sv.save_path().empty());
    CHECK(sv.save_model_interval() == 0s);
    CHECK(sv.save_summaries_interval() == 0s);
    co_await sv.managed([&]() -> task<> {
      CHECK(sv.summary_writer() == nullptr);
      co_await leat::sleep_for(10min);
    });
    CHECK(w.files().files().empty());
    co_await writer.close();
  });
}

TEST_CASE("supervisor: finds the step in the registry [37]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    l.step = 287;
    CHECK(supervisor(l.options()).global_step() == 287);
    float step = 1;
    leat::checkpoint_registry state;
    state.add("global_step", step);
    words warnings;
    leat::supervisor_options o;
    o.state = &state;
    o.on_warning = [&](const std::string& sentence) { warnings.push_back(sentence); };
    CHECK_FALSE(supervisor(o).global_step().has_value());
    REQUIRE(warnings.size() == 1);
    CHECK(contains(warnings[0], "'global_step' is not an integer of 4 or 8 bytes"));
    o.global_step = [] { return 5; };
    CHECK(supervisor(o).global_step() == 5);
    co_return;
  });
}

TEST_CASE("supervisor: writes a summary of step 0 and of the current step [39]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    int asked = 0;
    o.global_step = [&] {
      ++asked;
      return 7;
    };
    o.save_summaries_interval = 0s;
    o.save_model_interval = 0s;
    o.save_at_end = false;
    supervisor sv(std::move(o));
    leat::prepare_options p;
    p.start_standard_services = false;
    session s = co_await sv.prepare_or_wait_for_session(p);
    const int before = asked;
    co_await sv.summary_computed(summary().add_scalar("a", 1), 0);
    CHECK(asked == before);
    const std::string bytes = summary().add_scalar("b", 1).to_bytes();
    co_await sv.summary_computed(bytes);
    CHECK(asked == before + 1);
    co_await s.close();
    co_await sv.stop();
    CHECK((events_in_words(w) == words{"version", "a", "b 7", "STOP"}));
  });
}

TEST_CASE("supervisor: a reader treats the second start as a restart [89]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    {
      leat::supervisor_options o = l.options();
      o.save_model_interval = 0s;
      supervisor sv(std::move(o));
      const std::function<task<>()> body = [&]() -> task<> {
        for (int i = 1; i <= 100; ++i) {
          l.learn();
          co_await sv.summary_computed(summary().add_scalar("loss", i));
          if (i == 60) co_await sv.save();
        }
        throw std::runtime_error("a crash");
      };
      CHECK(co_await message_of(sv.managed(body)) == "a crash");
    }
    learner again;
    supervisor sv(again.options());
    const std::function<task<>()> body = [&]() -> task<> {
      CHECK(again.step == 60);
      for (int i = 61; i <= 70; ++i) {
        again.learn();
        co_await sv.summary_computed(summary().add_scalar("loss", -i));
      }
    };
    co_await sv.managed(body);
    const leat::event_run run = co_await leat::read_events("/run");
    const auto& loss = run.series.scalars.at("loss");
    REQUIRE(loss.size() == 70);
    CHECK(loss[59].step == 60);
    CHECK(loss[59].value == 60.0F);
    CHECK(loss[60].value == -61.0F);
  });
}

}  // namespace supervisor_events_test
