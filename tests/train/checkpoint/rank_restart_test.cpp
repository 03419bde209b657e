// Ranks that continue from their common step: changes by other ranks meanwhile, and checkpoints
// after that step.

#include "leat/io/file/file.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/effort.hpp"
#include "train/checkpoint/saver_support.hpp"
#include "train/supervisor/session_manager.hpp"

namespace rank_restart_test {

using namespace leat_test;
using leat::saver;
using leat::saver_options;
using leat::sim::world;

task<> restore(std::string directory, program& p, saver_options o, std::string& path) {
  saver s = co_await saver::open(std::move(directory), p.what, std::move(o));
  const auto restored = co_await s.restore_latest();
  path = restored.value_or("");
}

task<std::string> restored(std::string directory, program& p) {
  std::string path;
  co_await restore(std::move(directory), p, in_step(p), path);
  co_return path;
}

// Rank 0 has saved one checkpoint more than rank 1.
task<> one_ahead() {
  co_await save_of("/0", 10, 20, 30);
  co_await save_of("/1", 10, 20);
}

leat::supervisor_options supervised(program& p) {
  leat::supervisor_options o;
  o.logdir = "/0";
  o.state = &p.what;
  o.global_step = [&p] { return p.m.step; };
  o.saver = in_step(p);
  o.save_model_interval = leat::duration::zero();
  o.write_events = false;
  return o;
}

outcome refusal_of(leat::supervisor_options o) {
  return outcome_of([&] { const leat::supervisor sv(std::move(o)); });
}

TEST_CASE("supervisor: with rank_directories requires a chief and rejects periodic saves",
          "[train]") {
  program p;
  leat::supervisor_options o = supervised(p);
  o.is_chief = false;
  outcome refused = refusal_of(o);
  CHECK(refused.code == errc::invalid_argument);
  CHECK(contains(refused.text, "saver.rank_directories of a worker would delete"));
  o = supervised(p);
  o.save_model_interval = std::chrono::seconds(600);
  refused = refusal_of(o);
  CHECK(refused.code == errc::invalid_argument);
  CHECK(contains(refused.text,
                 "save_model_interval with saver.rank_directories would save at different steps"));
  CHECK(refusal_of(supervised(p)).text.empty());
}

task<> run_hooked(program& p, std::int64_t steps) {
  leat::monitored_session_options o;
  o.supervised = supervised(p);
  o.supervised.save_model_interval = std::chrono::seconds(600);
  o.save_checkpoint_steps = steps;
  leat::monitored_session s(std::move(o));
  const auto body = []() -> task<> { co_return; };
  co_await s.managed(body);
}

TEST_CASE("monitored_session: with rank_directories rejects saves at intervals in time",
          "[train]") {
  in_world([](world&) -> task<> {
    program p;
    CHECK(contains(co_await message_of(run_hooked(p, 0), errc::invalid_argument),
                   "set an interval in steps"));
    CHECK((co_await outcome_of(run_hooked(p, 10))).text.empty());
  });
}

TEST_CASE("session_manager: a wait for a checkpoint rejects rank_directories", "[train]") {
  in_world([](world& here) -> task<> {
    co_await one_ahead();
    const names before = checkpoints_in(here);
    program p;
    saver s = co_await saver::open("/0", p.what, in_step(p));
    leat::detail::session_manager m;
    const auto wait = [](leat::detail::session_manager& with, saver& from,
                         bool as_chief) -> task<> {
      leat::detail::restore_source source;
      source.from = &from;
      source.wait_for_checkpoint = as_chief;
      if (as_chief) {
        co_await with.prepare_session(std::move(source));
      } else {
        co_await with.wait_for_session(leat::duration::max(), std::move(source));
      }
    };
    for (const bool as_chief : {false, true}) {
      CHECK(contains(co_await message_of(wait(m, s, as_chief), errc::invalid_argument),
                     as_chief ? "a restore that waits for a checkpoint" : "a worker"));
    }
    CHECK(checkpoints_in(here) == before);
  });
}

// The old process of rank 1 saves after the new process of rank 0 has read the directories.
TEST_CASE("saver: a rank that rolls back finds checkpoints that an old process saved meanwhile",
          "[train]") {
  in_world([](world& here) -> task<> {
    co_await one_ahead();
    const std::string thirty = here.files().read_file("/0/model.ckpt-30").value();
    program p;
    saver_options o = in_step(p);
    o.on_skipped = [&](const std::string&, const std::exception_ptr&) {
      here.files().write_file("/1/model.ckpt-30", thirty);
    };
    std::string path;
    co_await restore("/0", p, std::move(o), path);
    CHECK(path == "/0/model.ckpt-30");
    CHECK(p.m.is(30));
    program q;
    CHECK(co_await restored("/1", q) == "/1/model.ckpt-30");
  });
}

TEST_CASE("saver: a rank does not roll back while other ranks save", "[train]") {
  in_world([](world& here) -> task<> {
    co_await one_ahead();
    const std::string thirty = here.files().read_file("/0/model.ckpt-30").value();
    int next = 40;
    program p;
    saver_options o = in_step(p);
    o.on_skipped = [&](const std::string&, const std::exception_ptr&) {
      here.files().write_file("/1/model.ckpt-" + std::to_string(next++), thirty);
    };
    std::string path;
    CHECK(contains(
        co_await message_of(restore("/0", p, std::move(o), path), errc::failed_precondition),
        "/0: other ranks save during the restore"));
    CHECK(co_await leat::checkpoint_exists("/0/model.ckpt-30"));
  });
}

TEST_CASE("saver: a crash does not restore checkpoints that a rank rolled back", "[train]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed);
    w.run([&](world& here) -> task<> {
      co_await one_ahead();
      if (seed % 2 == 1) {  // a process was killed at this point, before a sync
        here.files().write_file("/0/checkpoint", "model_checkpoint_path: \"model.ckpt-20\"\n");
        co_await leat::remove_file("/0/model.ckpt-30");
      }
      program p;
      CHECK(co_await restored("/0", p) == "/0/model.ckpt-20");
      here.files().crash();
      here.files().restart();
      const names after = checkpoints_in(here);
      CHECK(after ==
            names{"/0/model.ckpt-10", "/0/model.ckpt-20", "/1/model.ckpt-10", "/1/model.ckpt-20"});
    });
  }
}

// All ranks start at the same time: each may delete a checkpoint that another is about to read.
TEST_CASE("saver: ranks that roll back concurrently agree on a step", "[train]") {
  for (std::uint64_t seed = 0; seed < (slow_build ? 60 : 200); ++seed) {
    world w(seed);
    std::string first;
    std::string second;
    w.run([&](world& here) -> task<> {
      co_await save_of("/0", 10, 20, 30, 40);
      co_await save_of("/1", 10, 20, 30, 40);
      damage(here, "/0/model.ckpt-30");
      damage(here, "/0/model.ckpt-40");
      program p;
      program q;
      leat::task_group both("ranks");
      both.spawn(restore("/0", p, in_step(p), first));
      for (std::uint64_t i = 0; i < seed % 20; ++i) co_await leat::checkpoint_exists("/0/x");
      both.spawn(restore("/1", q, in_step(q), second));
      co_await both.join();
    });
    CHECK(first == "/0/model.ckpt-20");
    CHECK(second == "/1/model.ckpt-20");
  }
}

TEST_CASE("saver: a rank lists the step that it rolled back to", "[train]") {
  in_world([](world& here) -> task<> {
    co_await one_ahead();
    program p;
    co_await restored("/0", p);
    CHECK((co_await leat::latest_checkpoint("/0")).value() == "/0/model.ckpt-20");
    program strict;
    saver_options o = strict.options();
    o.strict = true;
    std::string path;
    co_await restore("/0", strict, std::move(o), path);
    CHECK(path == "/0/model.ckpt-20");
    // Its next checkpoint is adopted although a kill prevented its listing.
    const std::string list = here.files().read_file("/0/checkpoint").value();
    program next;
    saver s = co_await saver::open("/0", next.what, in_step(next));
    co_await s.restore_latest();
    const std::string saved = co_await save(s, next, 25);
    here.files().write_file("/0/checkpoint", list);
    here.files().write_file(saved, here.files().read_file(saved).value());
    program last;
    saver t = co_await saver::open("/0", last.what, last.options());
    CHECK(t.last_checkpoints() == names{"/0/model.ckpt-10", "/0/model.ckpt-20", saved});
    CHECK((co_await t.restore_latest()).value() == saved);
  });
}

TEST_CASE("saver: a rank does not start from the beginning if another rank has no directory",
          "[train]") {
  in_world([](world&) -> task<> {
    co_await save_of("/0", 10);
    program p;
    std::string path;
    const outcome refused = co_await outcome_of(restore("/0", p, in_step(p), path));
    CHECK(refused.code == errc::failed_precondition);
    CHECK(contains(refused.text, "directory '/1' of a rank does not exist"));
    CHECK(contains(refused.text, "/1 has no checkpoint; /0 has 10"));
    CHECK(co_await leat::checkpoint_exists("/0/model.ckpt-10"));
  });
}

TEST_CASE("saver: a strict rank fails if the newest common step is corrupt", "[train]") {
  in_world([](world& here) -> task<> {
    co_await one_ahead();
    program p;
    saver_options o = in_step(p);
    o.strict = true;
    std::string path;
    co_await restore("/1", p, o, path);
    CHECK(path == "/1/model.ckpt-20");  // a missing step 30 is not corruption
    damage(here, "/0/model.ckpt-20");
    CHECK(contains(co_await message_of(restore("/1", p, o, path), errc::data_loss),
                   "/0/model.ckpt-20"));
    CHECK(co_await leat::checkpoint_exists("/0/model.ckpt-30"));
  });
}

TEST_CASE("saver: ignores a directory with the name of a checkpoint", "[train]") {
  in_world([](world& here) -> task<> {
    co_await one_ahead();
    for (const std::string rank : {"/0", "/1"}) {
      here.files().make_directory(rank + "/model.ckpt-40");
      program p;
      CHECK(co_await restored(rank, p) == rank + "/model.ckpt-20");
    }
  });
}

TEST_CASE("saver: uses its own format if a step has two names", "[train]") {
  in_world([](world&) -> task<> {
    co_await one_ahead();
    program p;
    saver_options padded = p.options();
    padded.pad_step_number = true;
    saver s = co_await saver::open("/0", p.what, padded);
    co_await save(s, p, 20);
    program q;
    CHECK(co_await restored("/0", q) == "/0/model.ckpt-20");
    padded = in_step(q);
    padded.pad_step_number = true;
    std::string path;
    co_await restore("/0", q, padded, path);
    CHECK(path == "/0/model.ckpt-00000020");
  });
}

}  // namespace rank_restart_test
