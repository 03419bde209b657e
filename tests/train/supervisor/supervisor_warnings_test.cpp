// Warnings of a supervisor about its checkpoints.

#include <fcntl.h>

#include <cstdio>
#include <exception>

#include "leat/io/file/file.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/train/checkpoint/directory_lock.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/temp_dir.hpp"
#include "train/supervised.hpp"

namespace supervisor_warnings_test {

using namespace leat_test;
using leat::supervisor;

TEST_CASE("supervisor: reports each skipped checkpoint", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    {
      supervisor sv(l.options());
      co_await sv.managed([&]() -> task<> {
        for (int i = 0; i < 3; ++i) {
          l.learn();
          co_await sv.save();
        }
      });
    }
    CHECK(l.warnings.empty());
    damage(w, "/run/model.ckpt-3");
    co_await leat::remove_file("/run/model.ckpt-2");

    leat::supervisor_options o = l.options();
    words refused;
    o.saver.on_skipped = [&](const std::string& path, const std::exception_ptr&) {
      refused.push_back(path);
    };
    supervisor sv(std::move(o));
    co_await sv.managed([&]() -> task<> {
      CHECK(sv.restored_from() == "/run/model.ckpt-1");
      co_return;
    });
    CHECK(refused == words{"/run/model.ckpt-3", "/run/model.ckpt-2"});
    REQUIRE(l.warnings.size() == 2);
    CHECK(contains(l.warnings[0], "supervisor: checkpoint skipped: /run/model.ckpt-3: "));
    CHECK(contains(l.warnings[0], "checkpoint is corrupt"));
    CHECK(contains(l.warnings[1], "not a valid checkpoint: /run/model.ckpt-2"));
  });
}

TEST_CASE("supervisor: passes on warnings of the saver", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    w.files().write_file("/run/checkpoint", "no state file");
    words heard;
    leat::supervisor_options o = l.options();
    o.saver.on_warning = [&](const std::string& sentence) { heard.push_back(sentence); };
    supervisor sv(std::move(o));
    CHECK(contains(co_await message_of(sv.managed([]() -> task<> { co_return; })),
                   "/run/checkpoint"));
    REQUIRE(heard.size() == 1);
    REQUIRE(l.warnings.size() == 2);
    CHECK(l.warnings[0] == "supervisor: " + heard[0]);
    CHECK(contains(l.warnings[1], "state file skipped: /run/checkpoint: "));
  });
}

TEST_CASE("supervisor: by default prints each warning as a line on standard error", "[train]") {
  using print = void (*)(const std::string&);
  const leat::supervisor_options o;
  REQUIRE(o.on_warning.target<print>() != nullptr);
  CHECK(*o.on_warning.target<print>() == &leat::print_warning);

  const temp_dir dir;
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  const int to = open((dir / "errors").c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(to, STDERR_FILENO);
  in_world([](leat::sim::world&) -> task<> {
    leat::supervisor_options plain;  // without a logdir no service is started
    plain.name = "first";
    supervisor sv(std::move(plain));
    co_await sv.managed([]() -> task<> { co_return; });
    leat::supervisor_options silent;
    silent.on_warning = nullptr;
    supervisor other(std::move(silent));
    co_await other.managed([]() -> task<> { co_return; });
  });
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  close(to);
  CHECK(temp_dir::read(dir / "errors") ==
        "leat: first: standard services are not started: logdir is not set\n");
}

// A program that learns the lines of files, in steps.
struct reader_of_lines {
  reader_of_lines() {
    state.add("global_step", step);
    state.add("input", input);
  }
  leat::supervisor_options options() {
    leat::supervisor_options o;
    o.logdir = "/run";
    o.state = &state;
    o.write_events = false;
    o.on_warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    return o;
  }
  // Learns until the step is `goal`; 0: until the end.
  task<> learn(supervisor& sv, std::int64_t goal) {
    begun_at = step;
    while (goal == 0 || step < goal) {
      const auto line = co_await input.next();
      if (!line) break;
      ++step;
      if (step % 4 == 0) co_await sv.save();
    }
    co_await input.stop();
  }
  task<std::string> run(leat::supervisor_options o, std::int64_t goal) {
    supervisor sv(std::move(o));
    co_return co_await message_of(sv.managed([&]() -> task<> { co_await learn(sv, goal); }));
  }

  std::int64_t step = 0;
  std::int64_t begun_at = -1;
  leat::pipeline<std::vector<std::string>> input =
      leat::read_files<leat::line_reader>({.files = {"/in/*"}, .num_epochs = 1})
          .map("text", [](std::string_view line) { return std::string(line); });
  leat::checkpoint_registry state{"lines"};
  words warnings;
};

TEST_CASE("supervisor: a job with changed input ends and loses no checkpoint", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    std::string text;
    for (int i = 10; i < 30; ++i) text += std::to_string(i) + '\n';
    w.files().write_file("/in/a", text);
    {
      reader_of_lines p;
      CHECK(co_await p.run(p.options(), 14) == "");
    }
    CHECK(has_file(w, "/run/model.ckpt-0"));
    CHECK(has_file(w, "/run/model.ckpt-14"));
    const auto files = w.files().files();
    co_await leat::sleep_for(std::chrono::hours(1));
    w.files().write_file("/in/a", text);  // touched
    {
      reader_of_lines p;
      const std::string why = co_await p.run(p.options(), 0);
      CHECK(
          contains(why,
                   "/run/model.ckpt-14: entry 'input' is rejected: stage 'files': state cannot be "
                   "restored: '/in/a' was modified after it was read; to restore only the other "
                   "entries, set saver_options::left_out = {\"input\"}; the checkpoint is intact, "
                   "so no earlier one is used"));
      CHECK(p.begun_at == -1);
      CHECK(p.warnings.empty());
    }
    CHECK(w.files().files() == files);
    reader_of_lines p;
    leat::supervisor_options anyway = p.options();
    anyway.saver.skip_intact = true;
    CHECK(co_await p.run(std::move(anyway), 0) == "");
    CHECK(p.begun_at == 0);
    CHECK(p.step == 20);
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "4 checkpoints skipped (/run/model.ckpt-14, "));
  });
}

TEST_CASE("supervisor: does not save a restored state again", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    const auto run = [&](const std::string& damaged, std::int64_t steps) -> task<std::int64_t> {
      if (!damaged.empty()) w.files().write_file(damaged, "");
      supervisor sv(l.options());
      std::int64_t written = 0;
      co_await sv.managed([&]() -> task<> {
        co_await leat::sleep_for(std::chrono::seconds(1));  // the services run
        if (l.step > 0) {
          const leat::file_status s = co_await leat::get_status(sv.restored_from());
          written = s.modified_ns;
        }
        for (; steps > 0; --steps) {
          l.learn();
          co_await sv.save();
        }
      });
      co_return written;
    };
    co_await run("", 2);
    const leat::file_status before = co_await leat::get_status("/run/model.ckpt-2");
    co_await leat::sleep_for(std::chrono::hours(1));
    CHECK(co_await run("", 0) == before.modified_ns);
    // A start from an older checkpoint lists that one as the newest.
    const leat::file_status older = co_await leat::get_status("/run/model.ckpt-1");
    const std::int64_t anew = co_await run("/run/model.ckpt-2", 0);
    CHECK(l.step == 1);
    CHECK(anew > older.modified_ns);
  });
}

TEST_CASE("supervisor: acquires a removed lock file again before a save", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.save_model_interval = leat::duration::zero();
    o.save_summaries_interval = leat::duration::zero();
    supervisor sv(std::move(o));
    std::string second;
    std::string late;
    const auto body = [&]() -> task<> {
      l.learn();
      co_await leat::remove_file("/run/checkpoint.lock");
      co_await sv.save();
      learner another;
      supervisor other(another.options());
      second = co_await message_of(other.managed([]() -> task<> { co_return; }));

      co_await leat::remove_file("/run/checkpoint.lock");
      co_await leat::sleep_for(std::chrono::hours(1));
      leat::directory_lock lock = co_await leat::directory_lock::acquire("/run");
      l.learn();
      late = co_await message_of(sv.save());
      co_await lock.release();
    };
    co_await sv.managed(body);
    CHECK(contains(second, "/run: directory is locked by process"));
    CHECK(contains(late, "/run: directory is locked by process"));
    REQUIRE(l.warnings.size() == 2);
    CHECK(contains(l.warnings[0], "lock file /run/checkpoint.lock was removed or replaced"));
    CHECK(l.warnings[0] == l.warnings[1]);
    CHECK(has_file(w, "/run/model.ckpt-1"));
    CHECK(has_file(w, "/run/model.ckpt-2"));
  });
}

TEST_CASE("supervisor: a resumed job without events begins on a full disk", "[train]") {
  constexpr std::size_t size = 64 << 10;
  leat::sim::world w(1, {.files = {.size = size}});
  w.run([](leat::sim::world& here) -> task<> {
    const auto run = [](std::int64_t steps) -> task<std::int64_t> {
      learner l;
      leat::supervisor_options o = l.options();
      o.write_events = false;
      supervisor sv(std::move(o));
      std::int64_t begun_at = -1;
      co_await sv.managed([&]() -> task<> {
        begun_at = l.step;
        for (std::int64_t i = 0; i < steps; ++i) l.learn();
        co_await leat::sleep_for(std::chrono::seconds(1));  // the services run
      });
      co_return begun_at;
    };
    co_await run(2);
    here.files().write_file("/full", std::string(size, 'x'));
    CHECK(co_await run(0) == 2);
  });
}

}  // namespace supervisor_warnings_test
