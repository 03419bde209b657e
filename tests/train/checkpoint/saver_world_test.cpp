// Savers on a file system that fails and crashes.

#include <set>

#include "leat/sim/world/world.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace saver_world_test {

using namespace leat_test;
using leat::saver;
using leat::saver_options;
using leat::sim::fault;
using leat::sim::world;

// Saves the steps after `acknowledged` up to `last`, and sets `acknowledged` to the last saved
// step.
task<> run(program& p, std::int64_t last, std::int64_t& acknowledged) {
  saver s = co_await saver::open("/d", p.what, two_of(p));
  for (std::int64_t step = acknowledged + 1; step <= last; ++step) {
    co_await save(s, p, step);
    acknowledged = step;
  }
}

names partial_files(world& w) {
  names all = w.files().files();
  std::erase_if(all, [](const std::string& path) { return !contains(path, ".partial"); });
  return all;
}

// Returns the step that a new program restores, or nothing if there is no checkpoint.
std::optional<std::int64_t> found(world& w) {
  program p;
  std::optional<std::string> path;
  w.run([&](world&) -> task<> {
    saver s = co_await saver::open("/d", p.what, two_of(p));
    path = co_await s.restore_latest();
  });
  REQUIRE(p.refused.empty());
  if (!path) return std::nullopt;  // an unlisted first checkpoint may exist, with a warning
  REQUIRE(p.warnings.empty());
  REQUIRE(p.m.is(p.m.step));
  REQUIRE(*path == "/d/model.ckpt-" + std::to_string(p.m.step));
  return p.m.step;
}

TEST_CASE("saver: after a crash at any point, a checkpoint of the last save or later is intact",
          "[train]") {
  constexpr std::uint64_t seeds = slow_build ? 2 : 20;
  std::set<std::int64_t> ahead;
  std::set<std::optional<std::int64_t>> all;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        w.files().make_directory("/d");
        std::int64_t acknowledged = 0;
        program p;
        succeeds([&] { w.run([&](world&) { return run(p, 4, acknowledged); }); });
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
        w.files().restart();
        const std::optional<std::int64_t> step = found(w);
        REQUIRE(step.value_or(0) >= acknowledged);
        all.insert(step);
        ahead.insert(step.value_or(0) - acknowledged);
        // The next run cleans up and continues.
        std::int64_t from = step.value_or(0);
        w.run([&](world&) { return run(p, from + 3, from); });
        REQUIRE(found(w) == from);
        REQUIRE(partial_files(w) == names{});
      }
    }
  }
  CHECK(all.size() == 5);
  CHECK(ahead == std::set<std::int64_t>{0, 1});
}

TEST_CASE("saver: without fsync the end of the program loses nothing", "[train]") {
  world w(1);
  w.run([](world& here) -> task<> {
    program p;
    saver_options o = p.options();
    o.durable = false;
    saver s = co_await saver::open("/d", p.what, o);
    co_await save_all(s, p, 1, 2);
    p.m.set(0);
    CHECK(co_await s.restore_latest() == "/d/model.ckpt-2");
    CHECK(here.files().files().size() == 3);
  });
  w.files().crash();
  w.files().restart();
  // A crash of the machine may lose the checkpoint, but leaves no partial one.
  program p;
  p.m.set(77);
  try {
    w.run([&](world&) -> task<> {
      saver s = co_await saver::open("/d", p.what, p.options());
      co_await s.restore_latest();
    });
  } catch (const leat::failure& e) {
    CHECK(e.code() != leat::errc::cancelled);
    CHECK(p.m.is(77));
  }
  CHECK(p.m.is(p.m.step));
}

// Makes the n-th call fail, for every n, and retries the save.
void fail_every_call(fault f) {
  int failed = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    world w(3, {.files = {.plan = leat::sim::planned_fault{n, f}}});
    program p;
    w.run([&](world&) -> task<> {
      std::optional<saver> s;
      const auto open = [&]() -> task<> {
        s.emplace(co_await saver::open("/d", p.what, two_of(p)));
      };
      co_await retry_until_success(open, failed);
      for (std::int64_t step = 1; step <= 3; ++step) {
        co_await retry_until_success([&] { return save(*s, p, step); }, failed);
      }
    });
    reached = w.files().calls() >= n;
    REQUIRE(w.files().open_files() == 0);
    if (!reached) break;
    REQUIRE(found(w) == 3);
    // One more if it could not be deleted. A save that failed after the rename was not forgotten.
    REQUIRE(checkpoints_in(w).size() <= 3);
    REQUIRE(partial_files(w) == names{});
  }
  CHECK(failed > 10);
}

TEST_CASE("saver: a second save succeeds after the n-th call fails with EIO, for every n",
          "[train]") {
  fail_every_call(fault::io_error);
}

TEST_CASE("saver: a second save succeeds after the n-th call fails with ENOSPC, for every n",
          "[train]") {
  fail_every_call(fault::no_space);
}

TEST_CASE("saver: a full disk is an error and leaves the checkpoints unchanged", "[train]") {
  world w(1, {.files = {.size = 1500}});
  program p;
  std::int64_t acknowledged = 0;
  std::string said;
  try {
    w.run([&](world&) -> task<> {
      saver s = co_await saver::open("/d", p.what, p.options());
      for (;; ++acknowledged) co_await save(s, p, acknowledged + 1);
    });
  } catch (const leat::failure& e) {
    CHECK(e.code() == leat::errc::resource_exhausted);
    said = e.what();
  }
  CHECK(contains(said, "/d/"));
  CHECK(contains(said, ".partial: cannot write"));
  CHECK(acknowledged > 1);
  // The checkpoint of the failed save may exist, intact but not listed.
  const std::optional<std::int64_t> step = found(w);
  CHECK((step == acknowledged || step == acknowledged + 1));
}

TEST_CASE("saver: a thousand runs with random file errors", "[train]") {
  const leat::sim::fault_rates rates{.short_transfer = 0.1,
                                     .interrupted = 0.02,
                                     .again = 0.02,
                                     .cancelled_late = 0.02,
                                     .io_error = 0.02,
                                     .no_space = 0.02,
                                     .slow = 0.02};
  int failures = 0;
  const std::uint64_t seeds = scaled_count(1000);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    world w(seed, {.files = {.faults = rates}, .wall_jump = 0.05});
    w.run([&](world&) -> task<> {
      program p;
      std::int64_t acknowledged = 0;
      int tries = 0;
      const auto save_five = [&] {
        REQUIRE(++tries <= 1000);
        return run(p, 5, acknowledged);
      };
      co_await retry_until_success(save_five, failures);
      program after;
      const auto restore = [&]() -> task<> {
        saver s = co_await saver::open("/d", after.what, two_of(after));
        const std::optional<std::string> path = co_await s.restore_latest();
        REQUIRE(path);
      };
      co_await retry_until_success(restore, failures);
      // A checkpoint that cannot be read is skipped.
      REQUIRE(after.m.is(after.m.step));
      REQUIRE((after.m.step == 5 || !after.refused.empty()));
    });
    REQUIRE(w.files().open_files() == 0);
  }
  CHECK(failures > 100);
}

TEST_CASE("saver: a stopped save has completed or changed nothing", "[train]") {
  int saved = 0;
  int stopped = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    world w(n);
    program p;
    std::int64_t acknowledged = 0;
    w.run([&](world& here) -> task<> {
      co_await run(p, 2, acknowledged);
      const std::uint64_t stop_at = here.files().calls() + n;
      leat::task_group group;
      group.spawn([](program& of, std::int64_t& to) -> task<void> {
        saver s = co_await saver::open("/d", of.what, two_of(of));
        co_await save(s, of, 3);
        to = 3;
      }(p, acknowledged));
      for (int i = 0; i < 10'000 && here.files().calls() < stop_at && acknowledged < 3; ++i) {
        co_await leat::sleep_for(std::chrono::microseconds(10));
      }
      reached = here.files().calls() >= stop_at;
      group.request_stop();
      co_await group.join();
    });
    const bool was_stopped = acknowledged == 2;
    REQUIRE(w.files().open_files() == 0);
    const std::optional<std::int64_t> step = found(w);
    REQUIRE((step == acknowledged || (was_stopped && step == 3)));
    ++(was_stopped ? stopped : saved);
  }
  CHECK(stopped > 5);
  CHECK(saved > 1);
}

TEST_CASE("saver: wrong bits in a read never become values", "[train]") {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < scaled_count(1000); ++seed) {
    world w(seed, {.files = {.faults = {.bit_flip = 0.1}}});
    w.run([&](world&) -> task<> {
      program p;
      std::int64_t acknowledged = 0;
      co_await run(p, 3, acknowledged);
      program after;
      after.m.set(77);
      saver s = co_await saver::open("/d", after.what, two_of(after));
      try {
        co_await s.restore_latest();
      } catch (const leat::failure&) {
        REQUIRE(after.m.is(77));
      }
      REQUIRE(after.m.is(after.m.step));
      refused += static_cast<int>(after.refused.size());
    });
  }
  CHECK(refused > 50);
}

}  // namespace saver_world_test
