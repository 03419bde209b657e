#include "leat/train/checkpoint/checkpoint_directory.hpp"

#include <algorithm>

#include "leat/io/file/file.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace checkpoint_directory_test {

using leat::checkpoint_state;
using leat::sim::world;
using names = std::vector<std::string>;

checkpoint_state state_of(const std::string& newest, const names& all) {
  checkpoint_state s;
  s.model_checkpoint_path = newest;
  s.all_model_checkpoint_paths = all;
  return s;
}

// Returns the contents of the state file after an update.
std::string stored(const std::string& directory, const checkpoint_state& state,
                   bool relative = false) {
  world w(1);
  w.files().make_directory("/train");
  w.run([&](world&) -> task<> {
    leat::checkpoint_state_options o;
    o.save_relative_paths = relative;
    co_await leat::update_checkpoint_state(directory, state, o);
  });
  return w.files().read_file("/train/checkpoint").value_or("");
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("update_checkpoint_state: stores absolute or relative paths [69]", "[train]") {
  CHECK(stored("/train", state_of("/train/model-0", {})) ==
        "model_checkpoint_path: \"/train/model-0\"\n"
        "all_model_checkpoint_paths: \"/train/model-0\"\n");
  CHECK(contains(stored("train", state_of("train/model-0", {})),
                 "model_checkpoint_path: \"model-0\"\n"));
  CHECK(contains(stored("train/", state_of("train/model-0", {})), ": \"model-0\"\n"));
  CHECK(contains(stored("./train", state_of("train/model-0", {})), ": \"model-0\"\n"));
  CHECK(contains(stored("train", state_of("other/model-0", {})), ": \"../other/model-0\"\n"));
  CHECK(contains(stored("train", state_of("/train/model-0", {})), ": \"/train/model-0\"\n"));
  CHECK(lines(stored("/train", state_of("/train/model-0", {}))) == 2);
  CHECK(lines(stored("/train", state_of("/train/model-0", {"/train/model-0"}))) == 2);
  CHECK(lines(stored("/train", state_of("/train/model-0", {"/train/model-2"}))) == 3);
}

TEST_CASE("update_checkpoint_state: both kinds of paths are read back [70]", "[train]") {
  world w(1);
  w.files().make_directory("/train");
  w.run([](world& here) -> task<> {
    const checkpoint_state mixed =
        state_of("train/model-0", {"/elsewhere/model-2", "train/model-0"});
    co_await leat::update_checkpoint_state("train", mixed);
    const auto same = co_await leat::get_checkpoint_state("train");
    REQUIRE(same);
    CHECK(*same == mixed);

    const checkpoint_state absolute =
        state_of("/train/model-2", {"/train/model-0", "/train/model-2"});
    leat::checkpoint_state_options o;
    o.save_relative_paths = true;
    co_await leat::update_checkpoint_state("/train", absolute, o);
    CHECK(here.files().read_file("/train/checkpoint") ==
          "model_checkpoint_path: \"model-2\"\n"
          "all_model_checkpoint_paths: \"model-0\"\n"
          "all_model_checkpoint_paths: \"model-2\"\n");
    const auto back = co_await leat::get_checkpoint_state("/train");
    REQUIRE(back);
    CHECK(*back == absolute);
  });
}

TEST_CASE("get_checkpoint_state: a missing, empty, invalid and hand-written file [71]", "[train]") {
  world w(1);
  w.files().make_directory("/d");
  w.run([](world& here) -> task<> {
    names warnings;
    const auto get = [&warnings] {
      return leat::get_checkpoint_state("/d", "checkpoint",
                                        [&](const std::string& s) { warnings.push_back(s); });
    };
    auto found = co_await get();
    CHECK_FALSE(found);

    here.files().write_file("/d/checkpoint", "");
    CHECK(contains(co_await message_of(get(), errc::invalid_argument),
                   "Invalid checkpoint state loaded from /d/checkpoint"));
    CHECK(warnings.empty());

    here.files().write_file("/d/checkpoint", "no checkpoints\n");
    found = co_await get();
    CHECK_FALSE(found);
    REQUIRE(warnings.size() == 1);
    CHECK(contains(warnings[0], "/d/checkpoint: checkpoint state, line 1"));

    here.files().write_file("/d/checkpoint",
                            "# mine\nmodel_checkpoint_path: './model.ckpt-7'\n"
                            "all_model_checkpoint_paths: '/x/a'\n");
    found = co_await get();
    REQUIRE(found);
    CHECK(found->model_checkpoint_path == "/d/./model.ckpt-7");
    CHECK(found->all_model_checkpoint_paths == names{"/x/a"});
  });
}

TEST_CASE("update_checkpoint_state: rejects invalid arguments", "[train]") {
  world w(1);
  w.files().make_directory("/d");
  w.run([](world& here) -> task<> {
    const auto failing = [](checkpoint_state s, std::string file) -> task<> {
      leat::checkpoint_state_options o;
      o.latest_filename = std::move(file);
      co_await leat::update_checkpoint_state("/d", std::move(s), o);
    };
    const checkpoint_state plain = state_of("/d/a", {});
    CHECK(contains(co_await message_of(failing(plain, "x/y"), errc::invalid_argument),
                   "must not be empty or contain a '/'"));
    const checkpoint_state same = state_of("/d/checkpoint", {});
    CHECK(contains(co_await message_of(failing(same, "checkpoint"), errc::invalid_argument),
                   "checkpoint and state file have the same name"));
    checkpoint_state times = plain;
    times.all_model_checkpoint_timestamps = {1, 2};
    CHECK(contains(co_await message_of(failing(times, "checkpoint"), errc::invalid_argument),
                   "2 timestamps for 1 checkpoints"));
    CHECK(here.files().files().empty());
  });
}

TEST_CASE("latest_checkpoint: returns the newest existing checkpoint [59]", "[train]") {
  world w(1);
  w.run([](world& here) -> task<> {
    here.files().make_directory("/d");
    auto latest = co_await leat::latest_checkpoint("/d");
    CHECK_FALSE(latest);
    here.files().write_file("/d/a", "");
    here.files().write_file("/d/b", "");
    const checkpoint_state s = state_of("/d/c", {"/d/a", "/d/b", "/d/c"});
    co_await leat::update_checkpoint_state("/d", s);
    latest = co_await leat::latest_checkpoint("/d");
    CHECK(latest == "/d/b");
    here.files().write_file("/d/c", "");
    latest = co_await leat::latest_checkpoint("/d");
    CHECK(latest == "/d/c");
  });
}

TEST_CASE("restore_order: the chosen checkpoint, then earlier ones", "[train]") {
  CHECK(leat::restore_order(state_of("c", {"a", "b", "c"})) == names{"c", "b", "a"});
  CHECK(leat::restore_order(state_of("b", {"a", "b", "c"})) == names{"b", "a"});
  CHECK(leat::restore_order(state_of("x", {"a", "b"})) == names{"x", "b", "a"});
  CHECK(leat::restore_order(state_of("a", {})) == names{"a"});
}

TEST_CASE("checkpoint_exists: true from save to remove, and the times [73]", "[train]") {
  const temp_dir dir;
  const std::string a = dir / "a";
  leat::block_on([](std::string path, std::string missing, const temp_dir& d) -> task<void> {
    CHECK_FALSE(co_await leat::checkpoint_exists(path));
    d.write("a", "1");
    CHECK(co_await leat::checkpoint_exists(path));
    CHECK_FALSE(co_await leat::checkpoint_exists(d.path()));
    CHECK_FALSE(co_await leat::checkpoint_exists(path + "/below a file"));
    d.write("b", "2");
    names both = {path, d / "b"};
    const auto times = co_await leat::get_checkpoint_mtimes(both);
    REQUIRE(times.size() == 2);
    CHECK(times[0] <= times[1]);
    both.push_back(missing);
    const auto of_three = co_await leat::get_checkpoint_mtimes(both);
    CHECK(of_three.size() == 2);
    co_await leat::remove_checkpoint(path);
    CHECK_FALSE(co_await leat::checkpoint_exists(path));
    CHECK(co_await code_of(leat::remove_checkpoint(path)) == errc::not_found);
  }(a, dir / "missing", dir));
}

}  // namespace checkpoint_directory_test
