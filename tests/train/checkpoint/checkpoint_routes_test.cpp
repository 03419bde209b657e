// Checkpoints in a backend that a routing_backend selects.

#include <filesystem>

#include "io/routed_files.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/directory_lock.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "support/leat_test.hpp"

namespace checkpoint_routes_test {

using leat_test::mapped_backend;
using leat_test::with_routed_files;

task<void> save_and_restore(std::string directory) {
  std::int64_t step = 7;
  leat::checkpoint_registry values("values");
  values.add("step", step);
  leat::directory_lock lock = co_await leat::directory_lock::acquire(directory);
  leat::saver s = co_await leat::saver::open(directory, values);
  const std::string path = co_await s.save(7);
  CHECK(path == directory + "/model.ckpt-7");
  step = 0;
  CHECK(co_await s.restore_latest() == path);
  CHECK(step == 7);
  co_await lock.release();
}

TEST_CASE("saver: saves to the backend of the directory and restores from it", "[train]") {
  with_routed_files([](mapped_backend& left, mapped_backend& right) -> task<> {
    co_await save_and_restore("left:/train");
    co_await save_and_restore("right:/train");
    for (const mapped_backend* one : {&left, &right}) {
      CHECK(std::filesystem::exists(one->files / "train/checkpoint"));
      CHECK(std::filesystem::exists(one->files / "train/model.ckpt-7"));
    }
  });
}

TEST_CASE("directory_lock: a backend without locks is refused by its name", "[train]") {
  constexpr leat::file_capabilities no_locks{.lock = false};
  const auto check = [](mapped_backend&, mapped_backend&) -> task<> {
    CHECK(contains(co_await message_of(save_and_restore("left:/train"), errc::unimplemented),
                   "left:/train/checkpoint.lock: file backend 'left' cannot lock files"));
  };
  with_routed_files(check, no_locks);
}
}  // namespace checkpoint_routes_test
