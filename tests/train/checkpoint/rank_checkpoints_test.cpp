// Checkpoints of one step that several ranks have saved.

#include "leat/train/checkpoint/rank_checkpoints.hpp"

#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace rank_checkpoints_test {

using namespace leat_test;
using leat::rank_checkpoints;
using leat::saver;
using leat::saver_options;
using leat::sim::fault;
using leat::sim::world;

task<std::optional<rank_checkpoints>> find(names* refused = nullptr) {
  leat::rank_checkpoint_options o;
  if (refused) {
    o.on_skipped = [refused](const std::string& path, const std::exception_ptr&) {
      refused->push_back(path);
    };
  }
  std::vector<std::string> both(1, "/0");
  both.emplace_back("/1");
  co_return co_await leat::find_rank_checkpoints(std::move(both), std::move(o));
}

task<std::string> restored(std::string directory, program& p) {
  saver s = co_await saver::open(std::move(directory), p.what, in_step(p));
  const auto path = co_await s.restore_latest();
  co_return path.value_or("");
}

TEST_CASE("rank checkpoints: finds the newest step with an intact checkpoint of every rank",
          "[train]") {
  in_world([](world& here) -> task<> {
    co_await save_of("/0", 10, 20, 30, 40);
    co_await save_of("/1", 10, 20, 30);
    names refused;
    auto found = co_await find(&refused);
    REQUIRE(found);
    CHECK(found->step == 30);
    CHECK(found->paths == names{"/0/model.ckpt-30", "/1/model.ckpt-30"});
    CHECK(refused == names{"/0/model.ckpt-40"});
    damage(here, "/1/model.ckpt-30");
    refused.clear();
    found = co_await find(&refused);
    REQUIRE(found);
    CHECK(found->step == 20);
    CHECK(refused == names{"/0/model.ckpt-40", "/1/model.ckpt-30"});
  });
}

TEST_CASE("rank checkpoints: a job killed during its first save starts from the beginning",
          "[train]") {
  in_world([](world& here) -> task<> {
    CHECK(!co_await find());
    here.files().make_directory("/0");
    co_await save_of("/1", 10);
    CHECK(!co_await find());
    program p;
    CHECK(co_await restored("/1", p) == "");
    CHECK(here.files().files().empty());  // no state file is left either
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "/1/model.ckpt-10: checkpoint deleted, because not all ranks"));
  });
}

TEST_CASE("rank checkpoints: rejects ranks without a common step and lists their steps",
          "[train]") {
  in_world([](world& here) -> task<> {
    co_await save_of("/0", 10, 20);
    here.files().make_directory("/1");
    CHECK(contains(co_await message_of(find(), errc::failed_precondition),
                   "of every rank (/0 has 10, 20; /1 has no checkpoint): save at the same steps"));
    co_await save_of("/1", 15);
    program p;
    CHECK(contains(
        co_await message_of(restored("/0", p)),
        "train: no step with an intact checkpoint of every rank (/1 has 15; /0 has 10, 20)"));
    CHECK(co_await leat::checkpoint_exists("/0/model.ckpt-20"));
  });
}

TEST_CASE("saver: a rank restores the common step and deletes newer checkpoints", "[train]") {
  in_world([](world& here) -> task<> {
    co_await save_of("/0", 10, 20, 30);
    co_await save_of("/1", 10, 20);
    for (const std::string directory : {"/1", "/0", "/1"}) {  // in any order, and twice
      program p;
      CHECK(co_await restored(directory, p) == directory + "/model.ckpt-20");
      CHECK(p.m.is(20));
    }
    CHECK(checkpoints_in(here) ==
          names{"/0/model.ckpt-10", "/0/model.ckpt-20", "/1/model.ckpt-10", "/1/model.ckpt-20"});
    // Deleted checkpoints are not listed either.
    program p;
    saver s = co_await saver::open("/0", p.what, in_step(p));
    co_await s.restore_latest();
    co_await save(s, p, 25);
    CHECK(s.last_checkpoints() ==
          names{"/0/model.ckpt-10", "/0/model.ckpt-20", "/0/model.ckpt-25"});
  });
}

TEST_CASE("saver: a rank that cannot restore the common step deletes nothing", "[train]") {
  in_world([](world&) -> task<> {
    co_await save_of("/0", 10, 20);
    co_await save_of("/1", 10, 20);
    // Another program. If it restored the previous step, it would differ from the step of the other
    // rank.
    leat::checkpoint_registry what("another");
    int x = 0;
    what.add("x", x);
    saver_options o;
    o.rank_directories = {"/0", "/1"};
    saver s = co_await saver::open("/0", what, o);
    CHECK(co_await code_of(s.restore_latest()) == errc::failed_precondition);
    CHECK(co_await leat::checkpoint_exists("/0/model.ckpt-20"));
  });
}

TEST_CASE("saver: requires at least three checkpoints with rank_directories", "[train]") {
  in_world([](world&) -> task<> {
    program p;
    for (const std::size_t few : {std::size_t{1}, std::size_t{2}}) {
      saver_options o = in_step(p);
      o.max_to_keep = few;
      CHECK(contains(
          co_await message_of(saver::open("/0", p.what, std::move(o)), errc::invalid_argument),
          "max_to_keep is " + std::to_string(few)));
    }
  });
}

TEST_CASE("rank checkpoints: throws a system error, which other ranks may not see", "[train]") {
  int failed = 0;
  for (std::uint64_t n = 1;; ++n) {
    world w(1);
    w.run([](world&) -> task<> {
      co_await save_of("/0", 10, 20);
      co_await save_of("/1", 10, 20);
    });
    const std::uint64_t calls = w.files().calls();
    world again(1, {.files = {.plan = leat::sim::planned_fault{calls + n, fault::io_error}}});
    std::optional<rank_checkpoints> found;
    outcome o;
    again.run([&](world&) -> task<> {
      co_await save_of("/0", 10, 20);
      co_await save_of("/1", 10, 20);
      o = co_await outcome_of(
          [](std::optional<rank_checkpoints>& to) -> task<> { to = co_await find(); }(found));
    });
    if (again.files().calls() < calls + n) break;
    if (found) CHECK(found->step == 20);
    CHECK(found.has_value() == o.text.empty());
    failed += found ? 0 : 1;
  }
  CHECK(failed > 4);
}

struct thing {
  [[nodiscard]] std::string save() const { return text; }
  void restore(std::string_view bytes) { text = bytes; }
  std::string text;
};

TEST_CASE("read_saved_object: returns the bytes of an object by name", "[train]") {
  in_world([](world& here) -> task<> {
    thing input{"where it stood"};
    int step = 1;
    leat::checkpoint_registry what("model");
    what.add("input", input);
    what.add("step", step);
    saver s = co_await saver::open("/d", what);
    const std::string path = co_await s.save(1);
    CHECK(co_await leat::read_saved_object(path, "input") == "where it stood");
    CHECK(contains(co_await message_of(leat::read_saved_object(path, "inputs"), errc::not_found),
                   "/d/model.ckpt-1: checkpoint has no entry 'inputs'"));
    CHECK(
        contains(co_await message_of(leat::read_saved_object(path, "step"), errc::invalid_argument),
                 "entry 'step' is 1 x int32, not an object"));
    const std::string missing = "/d/model.ckpt-2";
    CHECK(co_await code_of(leat::read_saved_object(missing, "input")) == errc::not_found);
    std::string bytes = here.files().read_file(path).value();
    const std::size_t at = bytes.find("where it");
    bytes[at] = 'W';
    here.files().write_file(path, bytes);
    CHECK(co_await code_of(leat::read_saved_object(path, "input")) == errc::data_loss);
  });
}

}  // namespace rank_checkpoints_test
