// Checkpoints that a program could not list before it was killed, and files that resemble them.

#include <algorithm>

#include "leat/io/file/file.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace saver_unlisted_test {

using namespace leat_test;
using leat::saver;
using leat::saver_options;
using leat::sim::fault;
using leat::sim::world;

std::string path_of(std::int64_t step) { return "/d/model.ckpt-" + std::to_string(step); }

// Saves `count` steps from `first` on.
task<> save_steps(program& p, std::int64_t first, int count) {
  saver s = co_await saver::open("/d", p.what, two_of(p));
  for (std::int64_t step = first; step < first + count; ++step) co_await save(s, p, step);
}

// Returns the path that a new program restores, or an empty string if it restores nothing.
task<std::string> restored(program& p) {
  saver s = co_await saver::open("/d", p.what, two_of(p));
  const auto path = co_await s.restore_latest();
  co_return path.value_or("");
}

task<names> listed() {
  const auto s = co_await leat::get_checkpoint_state("/d");
  co_return s ? names(s->all_model_checkpoint_paths) : names();
}

task<names> adopted(program& p) {
  const saver s = co_await saver::open("/d", p.what, two_of(p));
  co_return s.last_checkpoints();
}

// Moves a checkpoint into the directory at once.
task<> move_in(world& w, std::string made, std::int64_t step) {
  w.files().write_file(path_of(step), w.files().read_file(made).value());
  co_await leat::remove_checkpoint(made);
}

// Creates a checkpoint elsewhere and moves it into the directory.
task<> put(world& w, program& p, std::int64_t step) {
  saver s = co_await saver::open("/elsewhere", p.what, two_of(p));
  co_await move_in(w, co_await save(s, p, step), step);
}

// Puts a checkpoint of another program into the directory.
task<> put_of_another(world& w, std::int64_t step) {
  co_await move_in(w, co_await save_of_another("/elsewhere", step), step);
}

// Checks that a saver leaves a file alone that `put_there` adds to a directory with steps 1 and 2.
void check_left_alone(const std::function<task<>(world& w)>& put_there, const std::string& path) {
  in_world([&](world& w) -> task<> {
    program p;
    co_await save_steps(p, 1, 2);
    co_await put_there(w);
    const auto before = w.files().read_file(path);
    REQUIRE(before.has_value());
    CHECK(co_await restored(p) == path_of(2));
    CHECK(p.m.is(2));
    const names all = co_await adopted(p);
    CHECK(all == names{path_of(1), path_of(2)});
    co_await save_steps(p, 100, 5);
    CHECK(w.files().read_file(path) == before);
    CHECK(checkpoints_in(w).size() == 3);
    CHECK(p.refused.empty());
    CHECK(p.warnings.empty());
  });
}

TEST_CASE("saver: restores and later deletes a checkpoint that a crash left unlisted", "[train]") {
  constexpr std::uint64_t seeds = slow_build ? 1 : 8;
  int unlisted = 0;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        w.files().make_directory("/d");
        program p;
        succeeds([&] { w.run([&](world&) { return save_steps(p, 1, 4); }); });
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
        w.files().restart();
        w.run([&](world& here) -> task<> {
          names left = checkpoints_in(here);
          std::erase_if(left, [](const std::string& path) { return contains(path, ".partial"); });
          const names known = co_await listed();
          program after;
          const std::string found = co_await restored(after);
          if (known.empty()) {  // in the first save: no state file exists
            CHECK(found.empty());
            co_return;
          }
          // The newest checkpoint with a final name was restored, listed or not.
          REQUIRE(after.m.is(after.m.step));
          REQUIRE(found == *std::ranges::max_element(left));
          if (std::ranges::find(known, found) == known.end()) ++unlisted;
          // Further steps follow, which replace no file.
          co_await save_steps(after, after.m.step + 10, 3);
          names now = co_await listed();
          REQUIRE(now.size() == 2);
          std::ranges::sort(now);
          REQUIRE(checkpoints_in(here) == now);
          REQUIRE(after.refused.empty());
          REQUIRE(after.warnings.empty());
        });
      }
    }
  }
  CHECK(unlisted > 0);
}

TEST_CASE("saver: the next run counts a checkpoint whose state file could not be written",
          "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await save_steps(p, 1, 2);
    co_await put(w, p, 4);
    co_await put(w, p, 3);
    co_await leat::sleep_for(std::chrono::hours(1));
    const names all = co_await adopted(p);
    CHECK(all == names{path_of(1), path_of(2), path_of(3), path_of(4)});
    const names still = co_await listed();
    CHECK(still == names{path_of(1), path_of(2)});  // nothing was written
    CHECK(co_await restored(p) == path_of(4));
    CHECK(p.m.is(4));
    co_await save_steps(p, 5, 1);
    CHECK(checkpoints_in(w) == names{path_of(4), path_of(5)});
  });
}

TEST_CASE("saver: skips a corrupt unlisted checkpoint and later deletes it", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await save_steps(p, 1, 2);
    co_await put(w, p, 3);
    damage(w, path_of(3));
    CHECK(co_await restored(p) == path_of(2));
    CHECK(p.m.is(2));
    CHECK(p.refused == names{path_of(3)});
    co_await save_steps(p, 4, 2);
    CHECK(checkpoints_in(w) == names{path_of(4), path_of(5)});
  });
}

TEST_CASE("saver: without recovery does not adopt unlisted checkpoints", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await save_steps(p, 1, 2);
    co_await put(w, p, 3);
    saver_options o = two_of(p);
    o.recover_last_checkpoints = false;
    saver s = co_await saver::open("/d", p.what, o);
    co_await save_all(s, p, 4, 5, 6);
    CHECK(checkpoints_in(w) == names{path_of(1), path_of(2), path_of(3), path_of(5), path_of(6)});
  });
}

TEST_CASE("saver: does not restore a checkpoint that was removed from the state file", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await save_steps(p, 1, 2);
    co_await leat::sleep_for(std::chrono::seconds(1));
    w.files().write_file("/d/checkpoint",
                         "model_checkpoint_path: 'model.ckpt-1'\n"
                         "all_model_checkpoint_paths: 'model.ckpt-1'\n");
    CHECK(co_await restored(p) == path_of(1));
    const names all = co_await adopted(p);
    CHECK(all == names{path_of(1)});
    co_await save_steps(p, 10, 2);
    CHECK(checkpoints_in(w) == names{path_of(10), path_of(11), path_of(2)});
  });
}

TEST_CASE("saver: does not restore a listed checkpoint that is newer than the chosen one",
          "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await save_steps(p, 4, 2);
    co_await leat::sleep_for(std::chrono::seconds(1));
    w.files().write_file("/d/checkpoint",
                         "model_checkpoint_path: 'model.ckpt-4'\n"
                         "all_model_checkpoint_paths: ['model.ckpt-4', 'model.ckpt-5']\n");
    co_await put(w, p, 6);
    damage(w, path_of(6));
    CHECK(co_await restored(p) == path_of(4));
    CHECK(p.refused == names{path_of(6)});
  });
}

TEST_CASE("saver: with a corrupt state file, adopts at most max_to_keep checkpoints", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    saver_options o = two_of(p);
    o.keep_every = std::chrono::hours(1);
    {
      saver s = co_await saver::open("/d", p.what, o);
      for (std::int64_t step = 1; step <= 6; ++step) {
        co_await leat::sleep_for(std::chrono::hours(1));
        co_await save(s, p, step);
      }
    }
    co_await put_of_another(w, 7);
    const names before = checkpoints_in(w);
    REQUIRE(before.size() == 7);  // all but 5 and 6 are kept permanently
    w.files().write_file("/d/checkpoint", "\x01\x02");
    o.keep_every = {};  // no further one is kept permanently
    saver s = co_await saver::open("/d", p.what, o);
    CHECK(p.warnings.size() == 1);
    CHECK(contains(p.warnings.at(0), "/d/checkpoint: state file cannot be read"));
    CHECK(s.last_checkpoints() == names{path_of(5), path_of(6)});
    co_await save_all(s, p, 8, 9);
    CHECK(checkpoints_in(w) == names{path_of(1), path_of(2), path_of(3), path_of(4), path_of(7),
                                     path_of(8), path_of(9)});
    CHECK(p.warnings.size() == 1);

    w.files().write_file("/d/checkpoint", "\x01\x02");
    o.max_to_keep = std::nullopt;  // deletes none, so it lists all of this program
    const saver all = co_await saver::open("/d", p.what, o);
    CHECK(all.last_checkpoints() ==
          names{path_of(1), path_of(2), path_of(3), path_of(4), path_of(8), path_of(9)});
    o.max_to_keep = 0;
    const saver none = co_await saver::open("/d", p.what, o);
    CHECK(none.last_checkpoints().empty());
  });
}

TEST_CASE("saver: without a state file, restores nothing", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await put(w, p, 3);
    CHECK((co_await restored(p)).empty());
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0],
                   "/d: state file is missing, but the directory has 1 complete checkpoints of "
                   "this program, the newest is model.ckpt-3: the saver neither restores nor "
                   "deletes them; to resume from the newest, stop the program and write "
                   "model_checkpoint_path: \"model.ckpt-3\" into /d/checkpoint"));
    co_await save_steps(p, 10, 3);
    CHECK(checkpoints_in(w) == names{path_of(11), path_of(12), path_of(3)});
  });
}

TEST_CASE("saver: without a state file, warns how to resume", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    co_await save_steps(p, 8, 3);
    co_await put_of_another(w, 70);
    w.files().write_file(path_of(80), "no checkpoint");
    co_await leat::remove_file("/d/checkpoint");
    CHECK((co_await restored(p)).empty());
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0],
                   "2 complete checkpoints of this program, the newest is model.ckpt-10"));
    const std::size_t begin = p.warnings[0].find("model_checkpoint_path");
    const std::size_t end = p.warnings[0].find(" into ");
    w.files().write_file("/d/checkpoint", p.warnings[0].substr(begin, end - begin));
    CHECK(co_await restored(p) == path_of(10));
    CHECK(p.m.is(10));
    CHECK(p.warnings.size() == 1);
  });
}

TEST_CASE("saver: without a state file, the warning contains a valid line for any name",
          "[train]") {
  in_world([](world&) -> task<> {
    program p;
    saver_options o = p.options();
    o.basename = "my \"best\"";
    {
      saver s = co_await saver::open("/d", p.what, o);
      co_await save(s, p, 3);
    }
    co_await leat::remove_file("/d/checkpoint");
    co_await saver::open("/d", p.what, o);
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], R"(write model_checkpoint_path: "my \"best\"-3" into )"));
  });
}

TEST_CASE("saver: leaves a different file with the name of a checkpoint", "[train]") {
  const auto text = [](world& w) -> task<> {
    w.files().write_file(path_of(3), "no checkpoint");
    co_return;
  };
  check_left_alone(text, path_of(3));
}

TEST_CASE("saver: leaves a truncated checkpoint", "[train]") {
  const auto half = [](world& w) -> task<> {
    program p;
    co_await put(w, p, 3);
    const std::string bytes = w.files().read_file(path_of(3)).value();
    w.files().write_file(path_of(3), bytes.substr(0, bytes.size() - 1));
  };
  check_left_alone(half, path_of(3));
}

TEST_CASE("saver: leaves an unlisted checkpoint of another program", "[train]") {
  check_left_alone([](world& w) { return put_of_another(w, 3); }, path_of(3));
}

TEST_CASE("saver: leaves an unlisted checkpoint of an earlier step, however new", "[train]") {
  const auto earlier = [](world& w) -> task<> {
    program p;
    co_await put(w, p, 0);
  };
  check_left_alone(earlier, path_of(0));
}

TEST_CASE("saver: leaves a checkpoint with a different basename", "[train]") {
  const auto other = [](world& w) -> task<> {
    program p;
    co_await put(w, p, 3);
    w.files().write_file("/d/model.ckpt-best-3", w.files().read_file(path_of(3)).value());
    co_await leat::remove_checkpoint(path_of(3));
  };
  check_left_alone(other, "/d/model.ckpt-best-3");
}

TEST_CASE("saver: neither adopts nor deletes a checkpoint that open() cannot read", "[train]") {
  const auto begin = [](world& here) -> task<> {
    co_await save_of_another("/d", 50);
    here.files().write_file("/d/checkpoint", "no state");
  };
  world before(1);
  before.run([&](world& here) -> task<> { co_await begin(here); });
  const std::uint64_t calls = before.files().calls();
  int opened = 0;
  for (std::uint64_t n = 1; n <= 12; ++n) {
    world w(1,
            {.files = {.plan = leat::sim::planned_fault{calls + n, leat::sim::fault::io_error}}});
    w.run([&](world& here) -> task<> {
      co_await begin(here);
      program p;
      try {
        saver s = co_await saver::open("/d", p.what, two_of(p));
        ++opened;
        CHECK(s.last_checkpoints().empty());
        co_await save_all(s, p, 60, 70, 80);
      } catch (const leat::failure&) {
      }
      CHECK(here.files().read_file("/d/model.ckpt-50").has_value());
    });
  }
  CHECK(opened > 0);
}

}  // namespace saver_unlisted_test
