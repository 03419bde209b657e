#include "leat/train/checkpoint/directory_lock.hpp"

#include <filesystem>
#include <sys/wait.h>

#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"
#include "train/in_world.hpp"

namespace directory_lock_test {

using leat::directory_lock;
using leat_test::in_world;
using leat_test::outcome;

task<void> take(std::string directory) {
  const directory_lock lock = co_await directory_lock::acquire(std::move(directory));
  CHECK(lock.is_held());
}

TEST_CASE("directory_lock: the error of a second chief names the first one and its start time",
          "[train]") {
  in_world([](leat::sim::world& here) -> task<> {
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
}

TEST_CASE("directory_lock: does not write through a symbolic link", "[train]") {
  const temp_dir dir;
  dir.write("victim", "as it was");
  for (const char* target : {"victim", "none", "checkpoint.lock"}) {
    std::filesystem::remove(dir / "checkpoint.lock");
    std::filesystem::create_symlink(target, dir / "checkpoint.lock");
    CHECK_FAILS(errc::failed_precondition, dir / "checkpoint.lock: symbolic link",
                leat::block_on(take(dir.path())));
  }
  CHECK(temp_dir::read(dir / "victim") == "as it was");
  CHECK_FALSE(std::filesystem::exists(dir / "none"));
}

TEST_CASE("directory_lock: can be acquired on a full disk", "[train]") {
  leat::sim::world w(1, {.files = {.size = 0}});
  w.run([](leat::sim::world&) -> task<> {
    directory_lock lock = co_await directory_lock::acquire("/d");
    CHECK(contains(co_await message_of(take("/d"), errc::failed_precondition),
                   "locked by an unknown process"));
    co_await lock.release();
  });
}

TEST_CASE("directory_lock: renew() acquires a removed lock file again unless another holder exists",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    directory_lock lock = co_await directory_lock::acquire("/d");
    bool anew = co_await lock.renew();
    CHECK_FALSE(anew);
    co_await leat::remove_file("/d/checkpoint.lock");
    anew = co_await lock.renew();
    CHECK(anew);
    CHECK(co_await code_of(take("/d")) == errc::failed_precondition);

    co_await leat::remove_file("/d/checkpoint.lock");
    co_await leat::sleep_for(1h);
    directory_lock other = co_await directory_lock::acquire("/d");
    CHECK(contains(co_await message_of(lock.renew(), errc::failed_precondition),
                   "/d: directory is locked by process 1 on host simulated since"));
    co_await lock.release();
    co_await other.release();
  });
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
      const std::string first = co_await message_of<leat::failure>(take("/d"));
      reached = here.files().calls() >= n;
      failed += !first.empty();
      if (first.empty()) co_return;
      CHECK(co_await message_of(take("/d")) == "");
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
    CHECK(contains(co_await message_of(take(at), errc::failed_precondition),
                   "locked by process " + std::to_string(::getpid()) + " on host "));
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
  CHECK_FAILS(errc::failed_precondition, "locked by process " + std::to_string(child) + " on host ",
              leat::block_on(take(dir.path())));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  leat::block_on(take(dir.path()));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("directory_lock: names a file that is in the way of the directory", "[train]") {
  const temp_dir dir;
  dir.write("file", "");
  CHECK_FAILS(errc::failed_precondition, dir / "file",
              leat::block_on(take(dir / "file" + "/train")));
}

}  // namespace directory_lock_test
