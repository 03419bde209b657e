#include "leat/train/checkpoint/saver.hpp"

#include "leat/io/file/file.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "support/leat_test.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace saver_test {

using namespace leat_test;
using leat::checkpoint_registry;
using leat::saver;
using leat::saver_options;
using leat::sim::world;

TEST_CASE("saver: rejects an empty directory path", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    std::string said;
    try {
      saver s = co_await saver::open("", p.what);
    } catch (const leat::failure& e) {
      CHECK(e.code() == errc::invalid_argument);
      said = e.what();
    }
    CHECK(said.find("saver: path of the directory is empty: use") == 0);
    CHECK(here.files().files() == names{});
  });
}

TEST_CASE("saver: restores saved values", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("/new/train", p.what);
    auto none = co_await s.restore_latest();
    CHECK_FALSE(none);
    const std::string path = co_await save(s, p, 5);
    CHECK(path == "/new/train/model.ckpt-5");
    CHECK(s.last_checkpoints() == names{path});
    p.m.set(99);
    program other;
    saver again = co_await saver::open("/new/train", other.what);
    CHECK(co_await again.restore_latest() == path);
    CHECK(other.m.is(5));
    CHECK(co_await leat::latest_checkpoint("/new/train") == path);
    CHECK(here.files().files() == names{"/new/train/checkpoint", "/new/train/model.ckpt-5"});
  });
}

TEST_CASE("saver: writes times and relative paths to the state file", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what);
    co_await save(s, p, 1);
    here.jump_wall_clock(600s);
    co_await save(s, p, 2);
    const auto state = co_await leat::get_checkpoint_state("/d");
    REQUIRE(state);
    CHECK(state->model_checkpoint_path == "/d/model.ckpt-2");
    REQUIRE(state->all_model_checkpoint_timestamps.size() == 2);
    const double gap =
        state->all_model_checkpoint_timestamps[1] - state->all_model_checkpoint_timestamps[0];
    CHECK(gap >= 600);
    CHECK(gap < 601);
    const std::string text = here.files().read_file("/d/checkpoint").value_or("");
    CHECK(contains(text, "model_checkpoint_path: \"model.ckpt-2\"\n"));
    CHECK(contains(text, "all_model_checkpoint_timestamps: 9466848"));
  });
}

TEST_CASE("saver: a second saver continues the list, or deletes nothing if it adopts nothing [61]",
          "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver_options o;
    o.max_to_keep = 2;
    saver first = co_await saver::open("/d", p.what, o);
    co_await save_all(first, p, 1, 2, 3);
    CHECK(first.last_checkpoints() == names{"/d/model.ckpt-2", "/d/model.ckpt-3"});
    CHECK_FALSE(co_await leat::checkpoint_exists("/d/model.ckpt-1"));

    saver second = co_await saver::open("/d", p.what, o);
    CHECK(second.last_checkpoints() == first.last_checkpoints());
    co_await save(second, p, 2);
    CHECK(second.last_checkpoints() == names{"/d/model.ckpt-3", "/d/model.ckpt-2"});

    o.recover_last_checkpoints = false;
    o.max_to_keep = 1;
    saver third = co_await saver::open("/d", p.what, o);
    CHECK(third.last_checkpoints().empty());
    co_await save(third, p, 2);
    CHECK(third.last_checkpoints() == names{"/d/model.ckpt-2"});
    co_await save(third, p, 4);
    CHECK(checkpoints_in(here) == names{"/d/model.ckpt-3", "/d/model.ckpt-4"});
    const auto state = co_await leat::get_checkpoint_state("/d");
    CHECK(state->all_model_checkpoint_paths == names{"/d/model.ckpt-4"});
  });
}

TEST_CASE("saver: a limit of 0 keeps all and lists the newest [62]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver_options o;
    o.max_to_keep = 0;
    saver s = co_await saver::open("/d", p.what, o);
    co_await save_all(s, p, 1, 2);
    CHECK(checkpoints_in(here).size() == 2);
    CHECK(s.last_checkpoints().empty());
    const auto state = co_await leat::get_checkpoint_state("/d");
    CHECK(state->all_model_checkpoint_paths == names{"/d/model.ckpt-2"});
  });
}

TEST_CASE("saver: keeps one checkpoint per keep_every [63]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver_options o;
    o.max_to_keep = 2;
    o.keep_every = 1h;
    saver s = co_await saver::open("/d", p.what, o);
    here.jump_wall_clock(2h);
    co_await save_all(s, p, 1, 2, 3, 4);
    CHECK(checkpoints_in(here) == names{"/d/model.ckpt-1", "/d/model.ckpt-3", "/d/model.ckpt-4"});
    CHECK(s.last_checkpoints() == names{"/d/model.ckpt-3", "/d/model.ckpt-4"});
    // A later run keeps it, too.
    saver next = co_await saver::open("/d", p.what, o);
    co_await save_all(next, p, 5, 6, 7);
    CHECK(checkpoints_in(here) == names{"/d/model.ckpt-1", "/d/model.ckpt-6", "/d/model.ckpt-7"});
  });
}

TEST_CASE("saver: names of checkpoints [65]", "[train]") {
  in_world([](world&) -> task<> {
    program p;
    saver_options o;
    o.basename = "p";
    saver plain = co_await saver::open("/d", p.what, o);
    CHECK(plain.path_of(5) == "/d/p-5");
    o.pad_step_number = true;
    saver padded = co_await saver::open("/d/", p.what, o);
    CHECK(padded.path_of(5) == "/d/p-00000005");
    CHECK(padded.path_of(123456789) == "/d/p-123456789");
    CHECK(co_await save(padded, p, 5) == "/d/p-00000005");
    CHECK(co_await padded.save() == "/d/p");
  });
}

TEST_CASE("saver: rejects names that collide and names with a slash [66]", "[train]") {
  in_world([](world&) -> task<> {
    program p;
    saver_options o;
    o.basename = "checkpoint";
    saver s = co_await saver::open("/d", p.what, o);
    const auto save_without_step = [](saver& to) -> task<> { co_await to.save(); };
    CHECK(contains(co_await message_of(save_without_step(s), errc::invalid_argument),
                   "collides with the state file"));
    const std::string path = co_await save(s, p, 1);
    CHECK(co_await leat::latest_checkpoint("/d") == path);
    saver_options slash;
    slash.latest_filename = "a/b";
    CHECK(contains(co_await message_of(saver::open("/d", p.what, slash), errc::invalid_argument),
                   "latest_filename 'a/b'"));
    slash = {};
    slash.basename = "";
    CHECK(contains(co_await message_of(saver::open("/d", p.what, slash)), "basename ''"));
    slash = {};
    slash.keep_every = -1h;
    CHECK(
        contains(co_await message_of(saver::open("/d", p.what, slash)), "keep_every is negative"));
    // A save of step 5 would replace the state file, and a later save would delete it.
    for (const char* const name : {"model.ckpt-5", "model.ckpt-5.partial", "model.ckpt.partial2"}) {
      slash = {};
      slash.latest_filename = name;
      CHECK(contains(co_await message_of(saver::open("/d", p.what, slash), errc::invalid_argument),
                     "latest_filename '" + std::string(name) + "'"));
    }
  });
}

TEST_CASE("saver: a relative directory, and a directory that was moved [67]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("train", p.what);
    co_await save_all(s, p, 1, 2, 3);
    const auto latest = co_await leat::latest_checkpoint("train/");
    CHECK(latest == "train/model.ckpt-3");
    co_await s.restore(*latest);
    CHECK(p.m.is(3));
    for (const std::string& path : here.files().files()) {
      here.files().write_file("/moved" + path, *here.files().read_file(path));
    }
    saver moved = co_await saver::open("/moved/train", p.what);
    co_await save(moved, p, 9);
    p.m.set(0);
    CHECK(co_await moved.restore_latest() == "/moved/train/model.ckpt-9");
    CHECK(moved.last_checkpoints().size() == 4);
  });
}

TEST_CASE("saver: creates its directory, but a file of that name is an error [75]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    here.files().write_file("/file", "");
    saver nested = co_await saver::open("/a/b/c", p.what);
    const std::string path = co_await save(nested, p, 1);
    CHECK(co_await leat::checkpoint_exists(path));
    saver below = co_await saver::open("/file/train", p.what);
    CHECK(contains(co_await message_of(save_all(below, p, 1), errc::invalid_argument),
                   "Parent directory of /file/train/model.ckpt doesn't exist, can't save"));
  });
}

TEST_CASE("saver: an empty registry is an error unless allow_empty is set [78]", "[train]") {
  in_world([](world& here) -> task<> {
    const checkpoint_registry nothing;
    const saver_options plain;
    CHECK(contains(co_await message_of(saver::open("/d", nothing, plain), errc::invalid_argument),
                   "No variables to save"));
    saver_options allowed;
    allowed.allow_empty = true;
    saver s = co_await saver::open("/d", nothing, allowed);
    CHECK((co_await s.save(1)).empty());
    CHECK_FALSE(co_await s.restore_latest());
    co_await s.restore("/whatever");
    CHECK(here.files().files().empty());
  });
}

TEST_CASE("saver: removes only partial files of an earlier program", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    const names left = {"/d/model.ckpt-3.partial", "/d/model.ckpt-3.partial7",
                        "/d/model.ckpt.partial", "/d/checkpoint.partial"};
    const names others = {"/d/data.partial", "/d/model.ckpt-3.partial.gz",
                          "/d/model.ckpt-x.partial"};
    for (const auto* paths : {&left, &others}) {
      for (const std::string& path : *paths) here.files().write_file(path, "x");
    }
    saver s = co_await saver::open("/d", p.what, p.options());
    CHECK(here.files().files().size() == 7);
    co_await save(s, p, 1);
    for (const std::string& path : left) CHECK_FALSE(here.files().read_file(path));
    for (const std::string& path : others) CHECK(here.files().read_file(path));
    CHECK(p.warnings.empty());
  });
}

TEST_CASE("saver: saves the values at the time of the call", "[train]") {
  in_world([](world&) -> task<> {
    program p;
    std::vector<std::uint64_t> large(600'000, 7);
    p.what.add("large", large);
    saver s = co_await saver::open("/d", p.what);
    p.m.set(4);
    leat::task_group group;
    group.spawn([](saver& to) -> task<void> { co_await to.save(4); }(s));
    co_await leat::this_task::yield();
    bool began = false;
    for (int i = 0; i < 100 && !began; ++i) {
      const auto there = co_await outcome_of(leat::remove_file("/never"));
      began = there.code == errc::not_found;
    }
    p.m.set(5);
    large.assign(3, 1);
    co_await group.join();
    co_await s.restore("/d/model.ckpt-4");
    CHECK(p.m.is(4));
    CHECK(large == std::vector<std::uint64_t>(600'000, 7));
  });
}

TEST_CASE("saver: retries the deletion of an old checkpoint", "[train]") {
  // The removal of the first one fails.
  for (std::uint64_t call = 1;; ++call) {
    REQUIRE(call < 500);
    world w(1, {.files = {.plan = leat::sim::planned_fault{call, leat::sim::fault::io_error}}});
    program p;
    bool finished = false;
    try {
      w.run([&](world& here) -> task<> {
        saver_options o = p.options();
        o.max_to_keep = 1;
        saver s = co_await saver::open("/d", p.what, o);
        co_await save_all(s, p, 1, 2);
        const bool stuck = checkpoints_in(here).size() == 2;
        co_await save(s, p, 3);
        finished = stuck;
      });
    } catch (const leat::failure&) {
    }
    if (!finished) continue;
    CHECK(checkpoints_in(w) == names{"/d/model.ckpt-3"});
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "old checkpoint cannot be deleted: /d/model.ckpt-1"));
    break;
  }
}

TEST_CASE("saver: warns after the clock was set back, and deletes no earlier checkpoint",
          "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver_options o = p.options();
    o.max_to_keep = 1;
    saver s = co_await saver::open("/d", p.what, o);
    co_await save(s, p, 1);
    here.jump_wall_clock(-48h);
    saver next = co_await saver::open("/d", p.what, o);
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "clock was set back"));
    co_await save_all(next, p, 2, 3);
    CHECK(checkpoints_in(here) == names{"/d/model.ckpt-1", "/d/model.ckpt-3"});
  });
}

}  // namespace saver_test
