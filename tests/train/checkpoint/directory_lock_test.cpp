#include "leat/train/checkpoint/directory_lock.hpp"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/world/world.hpp"
#include "support/outcome_of.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace directory_lock_test {

using namespace std::chrono_literals;
using leat::directory_lock;
using leat::errc;
using leat::task;
using leat_test::contains;
using leat_test::outcome;
using leat_test::outcome_of;

task<void> take(std::string directory) {
  const directory_lock lock = co_await directory_lock::acquire(std::move(directory));
  CHECK(lock.is_held());
}

TEST_CASE("directory_lock: the error of a second chief names the first one and its start time",
          "[train]") {
  leat::sim::world w(1);
  w.run([](leat::sim::world& here) -> task<> {
    std::optional<directory_lock> lock;
    lock.emplace(co_await directory_lock::acquire("/a/train"));
    co_await leat::sleep_for(24h);
    const outcome o = co_await outcome_of(take("/a/train"));
    CHECK(o.code == errc::failed_precondition);
    CHECK(contains(o.text,
                   "/a/train: directory is locked by process 1 on host simulated since "
                   "2000-01-01 00:00:0"));
    CHECK(contains(o.text,
                   "UTC: stop that process, or use another directory for a different program"));
    co_await lock->release();
    co_await lock->release();
    CHECK_FALSE(lock->is_held());
    here.jump_wall_clock(-1h);
    lock.emplace(co_await directory_lock::acquire("/a/train"));
    const auto note = here.files().read_file("/a/train/checkpoint.lock");
    CHECK(contains(note.value_or(""), "since 2000-01-01 23:00:0"));
    lock.reset();
    co_await take("/a/train");
  });
  CHECK(w.files().open_files() == 0);
}

TEST_CASE("directory_lock: does not write through a symbolic link", "[train]") {
  const temp_dir dir;
  dir.write("victim", "as it was");
  for (const char* target : {"victim", "none", "checkpoint.lock"}) {
    std::filesystem::remove(dir / "checkpoint.lock");
    std::filesystem::create_symlink(target, dir / "checkpoint.lock");
    const outcome o = outcome_of([&] { leat::block_on(take(dir.path())); });
    CHECK(o.code == errc::failed_precondition);
    CHECK(contains(o.text, dir / "checkpoint.lock: symbolic link"));
  }
  CHECK(temp_dir::read(dir / "victim") == "as it was");
  CHECK_FALSE(std::filesystem::exists(dir / "none"));
}

TEST_CASE("directory_lock: can be acquired on a full disk", "[train]") {
  leat::sim::world w(1, {.files = {.size = 0}});
  w.run([](leat::sim::world&) -> task<> {
    directory_lock lock = co_await directory_lock::acquire("/d");
    const outcome o = co_await outcome_of(take("/d"));
    CHECK(o.code == errc::failed_precondition);
    CHECK(contains(o.text, "locked by an unknown process"));
    co_await lock.release();
  });
}

TEST_CASE("directory_lock: renew() acquires a removed lock file again unless another holder exists",
          "[train]") {
  leat::sim::world w(1);
  w.run([](leat::sim::world&) -> task<> {
    directory_lock lock = co_await directory_lock::acquire("/d");
    bool anew = co_await lock.renew();
    CHECK_FALSE(anew);
    co_await leat::remove_file("/d/checkpoint.lock");
    anew = co_await lock.renew();
    CHECK(anew);
    const outcome second = co_await outcome_of(take("/d"));
    CHECK(second.code == errc::failed_precondition);

    co_await leat::remove_file("/d/checkpoint.lock");
    co_await leat::sleep_for(1h);
    directory_lock other = co_await directory_lock::acquire("/d");
    const auto renew = [](directory_lock& held) -> task<void> { co_await held.renew(); };
    const outcome late = co_await outcome_of(renew(lock));
    CHECK(late.code == errc::failed_precondition);
    CHECK(contains(late.text, "/d: directory is locked by process 1 on host simulated since"));
    co_await lock.release();
    co_await other.release();
  });
  CHECK(w.files().open_files() == 0);
}

TEST_CASE("directory_lock: exactly one of two attempts succeeds", "[train]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    leat::sim::world w(seed, {.threads = 2});
    int holders = 0;
    int times = 0;
    w.always("one holds it", [&] { return holders <= 1; });
    w.run([&](leat::sim::world& here) -> task<> {
      const auto chief = [](int& held, int& all) -> task<void> {
        for (int tries = 0; tries < 5; ++tries) {
          try {
            directory_lock lock = co_await directory_lock::acquire("/d");
            ++held;
            ++all;
            co_await leat::sleep_for(1ms);
            --held;
            co_await lock.release();
          } catch (const leat::failure& e) {
            CHECK(e.code() == errc::failed_precondition);
          }
          co_await leat::sleep_for(1ms);
        }
      };
      leat::task_group group;
      group.spawn_on(here.thread(0), chief(holders, times));
      group.spawn_on(here.thread(1), chief(holders, times));
      co_await group.join();
    });
    REQUIRE(times > 0);
  }
}

TEST_CASE("directory_lock: a failed attempt releases the lock", "[train]") {
  int failed = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    leat::sim::world w(
        n, {.files = {.plan = leat::sim::planned_fault{n, leat::sim::fault::io_error}}});
    w.run([&](leat::sim::world& here) -> task<> {
      const outcome first = co_await outcome_of(take("/d"));
      reached = here.files().calls() >= n;
      failed += !first.text.empty();
      if (first.text.empty()) co_return;
      const outcome second = co_await outcome_of(take("/d"));
      CHECK(second.text.empty());
    });
  }
  CHECK(failed >= 5);  // make, sync, open, lock, truncate, write
}

TEST_CASE("directory_lock: is free after a crash", "[train]") {
  leat::sim::world w(3);
  bool crashed = false;
  try {
    w.run([](leat::sim::world& here) -> task<> {
      const directory_lock lock = co_await directory_lock::acquire("/d");
      here.files().crash();
      co_await leat::sync_directory("/d");
    });
  } catch (const leat::failure&) {
    crashed = true;
  }
  REQUIRE(crashed);
  w.files().restart();
  w.run([](leat::sim::world&) { return take("/d"); });
}

TEST_CASE("directory_lock: rejects a second lock of one process, in real files", "[train]") {
  const temp_dir dir;
  const std::string place = dir / "new" + "/train/";
  leat::block_on([](std::string at) -> task<void> {
    directory_lock lock = co_await directory_lock::acquire(at);
    const outcome o = co_await outcome_of(take(at));
    CHECK(o.code == errc::failed_precondition);
    CHECK(contains(o.text, "locked by process " + std::to_string(::getpid()) + " on host "));
    co_await lock.release();
    co_await take(at);
  }(place));
}

TEST_CASE("directory_lock: a killed holder releases it", "[train]") {
  const temp_dir dir;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    leat::block_on([](std::string at, int tell) -> task<void> {
      const directory_lock lock = co_await directory_lock::acquire(at);
      if (::write(tell, "!", 1) == 1) ::pause();
    }(dir.path(), ends[1]));
    std::_Exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  const outcome o = outcome_of([&] { leat::block_on(take(dir.path())); });
  CHECK(o.code == errc::failed_precondition);
  CHECK(contains(o.text, "locked by process " + std::to_string(child) + " on host "));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  leat::block_on(take(dir.path()));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("directory_lock: names a file that is in the way of the directory", "[train]") {
  const temp_dir dir;
  dir.write("file", "");
  const outcome o = outcome_of([&] { leat::block_on(take(dir / "file" + "/train")); });
  CHECK(o.code == errc::failed_precondition);
  CHECK(contains(o.text, dir / "file"));
}

}  // namespace directory_lock_test
