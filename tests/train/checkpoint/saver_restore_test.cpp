// Checkpoints that savers restore, and checkpoints that they reject.

#include "leat/train/checkpoint/saver.hpp"

#include "leat/io/file/file.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace saver_restore_test {

using namespace leat_test;
using leat::checkpoint_registry;
using leat::saver;
using leat::saver_options;
using leat::sim::world;

TEST_CASE("saver: restores the checkpoint of an edited state file [71]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what);
    co_await save_all(s, p, 1, 2, 3);
    here.files().write_file("/d/checkpoint", "# 3 is bad\nmodel_checkpoint_path: 'model.ckpt-2'\n");
    CHECK(co_await s.restore_latest() == "/d/model.ckpt-2");
    CHECK(p.m.is(2));
  });
}

TEST_CASE("saver: accepts each spelling of a path in the state file [71]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver first = co_await saver::open("/d", p.what);
    co_await save_all(first, p, 1, 2);
    here.files().write_file("/d/checkpoint",
                            "model_checkpoint_path: './model.ckpt-2'\n"
                            "all_model_checkpoint_paths: '/d/model.ckpt-1'\n"
                            "all_model_checkpoint_paths: 'model.ckpt-2'\n"
                            "all_model_checkpoint_paths: './model.ckpt-2'\n");
    saver s = co_await saver::open("/d/.", p.what, two_of(p));
    CHECK(s.last_checkpoints() == names{"/d/./model.ckpt-1", "/d/./model.ckpt-2"});
    CHECK(co_await s.restore_latest() == "/d/./model.ckpt-2");
    co_await save(s, p, 3);
    CHECK(leat_test::checkpoints_in(here) == names{"/d/model.ckpt-2", "/d/model.ckpt-3"});
  });
}

TEST_CASE("saver: a failed restore reports the reason and changes nothing [74]", "[train]") {
  in_world([](world&) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what);
    const std::string path = co_await save(s, p, 3);
    outcome o = co_await outcome_of(s.restore(""));
    CHECK(o.code == errc::invalid_argument);
    CHECK(contains(o.text, "saver: path is empty: pass the path of a checkpoint"));
    o = co_await outcome_of(s.restore("invalid path"));
    CHECK(o.code == errc::invalid_argument);
    CHECK(contains(o.text, "The passed save_path is not a valid checkpoint: invalid path"));

    const auto refused = [&path](const checkpoint_registry& what, saver_options options) {
      return outcome_of(
          [](const checkpoint_registry& w, saver_options opt, std::string from) -> task<void> {
            saver other = co_await saver::open("/d", w, std::move(opt));
            co_await other.restore(std::move(from));
          }(what, std::move(options), path));
    };
    const saver_options plain;
    std::int64_t step = -1;
    std::string extra = "mine";
    checkpoint_registry more("model");
    more.add("step", step);
    more.add("momentum", extra);
    o = co_await refused(more, plain);
    CHECK(o.code == errc::not_found);
    CHECK(contains(
        o.text,
        "/d/model.ckpt-3: checkpoint has no entry 'momentum', because the program that saved it "
        "did not register it: keep the initial value with saver_options::may_be_missing"));

    float bias[3] = {};
    checkpoint_registry shape("model");
    shape.add("step", step);
    shape.add("bias", bias);
    o = co_await refused(shape, plain);
    CHECK(o.code == errc::invalid_argument);
    CHECK(contains(o.text, "entry 'bias' is 2 x float32, but the program has 3 x float32"));

    std::vector<double> weights;
    checkpoint_registry type("model");
    type.add("step", step);
    type.add("weights", weights);
    o = co_await refused(type, plain);
    CHECK(o.code == errc::invalid_argument);
    CHECK(contains(o.text,
                   "entry 'weights' is 4 x float32, but the program has any number of float64"));

    checkpoint_registry less("model");
    less.add("step", step);
    o = co_await refused(less, plain);
    CHECK(o.code == errc::invalid_argument);
    CHECK(contains(
        o.text,
        "has an entry 'weights' (4 x float32) that the program does not "
        "register: register it, or drop it from the state with saver_options::may_be_extra"));
    CHECK(step == -1);
    saver_options ignoring;
    ignoring.extra = leat::extra_entries::ignore;
    o = co_await refused(less, ignoring);
    CHECK(o.text.empty());
    CHECK(step == 3);
    CHECK(extra == "mine");

    checkpoint_registry foreign("another model");
    foreign.add("step", step);
    o = co_await refused(foreign, ignoring);
    CHECK(o.code == errc::failed_precondition);
    CHECK(contains(o.text, "checkpoint belongs to 'model', but this program is 'another model'"));
    // A program whose registry was only renamed continues after following the first advice.
    CHECK(contains(o.text,
                   "if it is the same program, restore the old identity with "
                   "checkpoint_registry(\"model\"), otherwise use a different directory"));
    step = -1;
    checkpoint_registry renamed("model");
    renamed.add("step", step);
    o = co_await refused(renamed, ignoring);
    CHECK(o.text.empty());
    CHECK(step == 3);
  });
}

TEST_CASE("saver: detects a change of any byte and of the length [77]", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what);
    const std::string path = co_await save(s, p, 3);
    const std::string good = here.files().read_file(path).value_or("");
    p.m.set(9);
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      here.files().write_file(path, bad);
      const outcome o = co_await outcome_of(s.restore(path));
      REQUIRE(o.code == (at < 8 ? errc::invalid_argument : errc::data_loss));
      REQUIRE(contains(o.text, path));
      here.files().write_file(path, good.substr(0, at));
      const outcome cut = co_await outcome_of(s.restore(path));
      REQUIRE(cut.code == errc::data_loss);
    }
    here.files().write_file(path, good + "x");
    CHECK(contains(co_await message_of(s.restore(path), errc::data_loss), "but was written with"));
    CHECK(p.m.is(9));
    here.files().write_file(path, good);
    co_await s.restore(path);
    CHECK(p.m.is(3));
  });
}

TEST_CASE(
    "saver: restores an earlier checkpoint if the newest is corrupt or missing, and reports it "
    "[59]",
    "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what, p.options());
    co_await save_all(s, p, 1, 2, 3, 4);
    damage(here, "/d/model.ckpt-3");
    co_await leat::remove_checkpoint("/d/model.ckpt-4");
    CHECK(co_await s.restore_latest() == "/d/model.ckpt-2");
    CHECK(p.m.is(2));
    CHECK(p.refused == names{"/d/model.ckpt-4", "/d/model.ckpt-3"});

    saver_options strict = p.options();
    strict.strict = true;
    saver strictly = co_await saver::open("/d", p.what, strict);
    CHECK(contains(co_await message_of(strictly.restore_latest(), errc::invalid_argument),
                   "not a valid checkpoint: /d/model.ckpt-4"));

    for (const int i : {1, 2}) {
      here.files().write_file("/d/model.ckpt-" + std::to_string(i), "nothing");
    }
    p.m.set(77);
    CHECK(contains(co_await message_of(s.restore_latest(), errc::invalid_argument),
                   "/d/model.ckpt-4"));
    CHECK(p.m.is(77));
  });
}

TEST_CASE("saver: with a corrupt state file, restores the highest intact step", "[train]") {
  in_world([](world& here) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what, p.options());
    co_await save_all(s, p, 9, 10, 100);
    here.files().write_file("/d/model.ckpt-100", "");
    for (const std::string& text : {std::string("\x01\x02"), std::string()}) {
      here.files().write_file("/d/checkpoint", text);
      p.refused.clear();
      p.m.set(0);
      CHECK(co_await s.restore_latest() == "/d/model.ckpt-10");
      CHECK(p.m.is(10));
      CHECK(p.refused == names{"/d/checkpoint", "/d/model.ckpt-100"});
    }
    saver_options strict;
    strict.strict = true;
    saver strictly = co_await saver::open("/d", p.what, strict);
    CHECK(co_await code_of(strictly.restore_latest()) == errc::invalid_argument);
    // A new saver later deletes the checkpoints that it has found, and leaves other files alone.
    saver_options two = p.options();
    two.max_to_keep = 2;
    saver next = co_await saver::open("/d", p.what, two);
    CHECK(p.warnings.size() == 1);
    CHECK(next.last_checkpoints() == names{"/d/model.ckpt-9", "/d/model.ckpt-10"});
    co_await save(next, p, 200);
    CHECK(checkpoints_in(here) ==
          names{"/d/model.ckpt-10", "/d/model.ckpt-100", "/d/model.ckpt-200"});
  });
}

// ---- Objects.

// Rejects bytes that it did not write, and all bytes if `refuses` is set.
struct object {
  explicit object(std::string v) : value(std::move(v)) {}
  std::string save() const { return "<" + value + ">"; }
  void restore(std::string_view bytes) {
    if (refuses || bytes.size() < 2 || bytes.front() != '<') {
      throw leat::failure(errc::failed_precondition, "these are the bytes of something else");
    }
    value = bytes.substr(1, bytes.size() - 2);
  }
  std::string value;
  bool refuses = false;
};

// The same, with a restore() that takes a second.
struct slow_object : object {
  using object::object;
  task<void> restore(std::string bytes) {
    co_await leat::sleep_for(1s);
    object::restore(bytes);
  }
};

struct objects {
  objects() {
    what.add("step", step);
    what.add("fast", fast);
    what.add("slow", slow);
    what.add("last", last);
  }
  std::int64_t step = 1;
  object fast{"f1"};
  slow_object slow{"s1"};
  object last{"l1"};
  checkpoint_registry what;

  void change() {
    step = 2;
    fast.value = "f2";
    slow.value = "s2";
    last.value = "l2";
  }
  [[nodiscard]] std::string all() const {
    return std::to_string(step) + fast.value + slow.value + last.value;
  }
};

TEST_CASE("saver: objects restore themselves, synchronously or in a task", "[train]") {
  in_world([](world&) -> task<> {
    objects o;
    saver s = co_await saver::open("/d", o.what);
    const std::string path = co_await s.save(1);
    o.change();
    co_await s.restore(path);
    CHECK(o.all() == "1f1s1l1");
  });
}

TEST_CASE("saver: a rejected object leaves other objects and values unchanged", "[train]") {
  in_world([](world&) -> task<> {
    objects o;
    saver s = co_await saver::open("/d", o.what);
    const std::string path = co_await s.save(1);
    o.change();
    o.last.refuses = true;
    CHECK(contains(co_await message_of(s.restore(path), errc::failed_precondition),
                   "/d/model.ckpt-1: entry 'last' is rejected: these are the bytes of something "
                   "else"));
    CHECK(o.all() == "2f2s2l2");
  });
}

TEST_CASE("saver: names an object that cannot be rolled back", "[train]") {
  struct only_once : object {
    using object::object;
    void restore(std::string_view bytes) {
      object::restore(bytes);
      refuses = true;
    }
  };
  in_world([](world&) -> task<> {
    only_once once("o");
    object never("n");
    checkpoint_registry what;
    what.add("once", once);
    what.add("never", never);
    saver s = co_await saver::open("/d", what);
    const std::string path = co_await s.save(1);
    never.refuses = true;
    CHECK(contains(co_await message_of(s.restore(path)),
                   "entry 'never' is rejected, and entries restored before it could not be rolled "
                   "back: 'once': these are"));
  });
}

TEST_CASE("saver: skips a checkpoint that an object rejects", "[train]") {
  in_world([](world&) -> task<> {
    struct picky : object {
      using object::object;
      void restore(std::string_view bytes) {
        if (bytes == "<new>") throw leat::failure(errc::invalid_argument, "no");
        object::restore(bytes);
      }
    };
    picky p("old");
    checkpoint_registry what;
    what.add("picky", p);
    int passed_over = 0;
    saver_options o;
    o.on_skipped = [&](const std::string&, const std::exception_ptr&) { ++passed_over; };
    saver s = co_await saver::open("/d", what, o);
    co_await s.save(1);
    p.value = "new";
    co_await s.save(2);
    CHECK(co_await s.restore_latest() == "/d/model.ckpt-1");
    CHECK(p.value == "old");
    CHECK(passed_over == 1);
  });
}

// The outcome of a restore whose n-th call fails, in a directory with two checkpoints.
struct after_error {
  std::string restored;
  std::string error;
  names refused;
  bool reached = false;
};
after_error restore_with_error(std::uint64_t n, std::uint64_t before, bool strict, bool listed) {
  after_error a;
  world w(1, {.files = {.plan = leat::sim::planned_fault{before + n, leat::sim::fault::io_error}}});
  w.run([&](world& here) -> task<> {
    program p;
    saver_options options = p.options();
    options.strict = strict;
    saver s = co_await saver::open("/d", p.what, std::move(options));
    co_await save_all(s, p, 1, 2);
    if (!listed) {  // as after a crash
      here.files().write_file("/d/checkpoint", "model_checkpoint_path: 'model.ckpt-1'\n");
      const std::string newest = here.files().read_file("/d/model.ckpt-2").value();
      here.files().write_file("/d/model.ckpt-2", newest);
    }
    const auto restore = [](saver& of, std::string& to) -> task<> {
      to = (co_await of.restore_latest()).value_or("");
    };
    a.error = (co_await outcome_of(restore(s, a.restored))).text;
    a.refused = p.refused;
    CHECK((a.restored.empty() || p.m.is(a.restored.back() - '0')));
  });
  a.reached = w.files().calls() >= before + n;
  return a;
}

TEST_CASE("saver: skips a checkpoint with a read error and calls on_skipped", "[train]") {
  world w(1);
  w.run([](world&) -> task<> {
    program p;
    saver s = co_await saver::open("/d", p.what, p.options());
    co_await save_all(s, p, 1, 2);
  });
  const std::uint64_t before = w.files().calls();
  for (const auto& [strict, listed] :
       {std::pair{false, true}, {true, true}, {false, false}, {true, false}}) {
    int passed_over = 0;
    for (std::uint64_t n = 1;; ++n) {
      const after_error a = restore_with_error(n, before, strict, listed);
      if (!a.reached) break;
      if (a.restored == "/d/model.ckpt-1") {
        ++passed_over;
        CHECK(a.refused == names{"/d/model.ckpt-2"});
      } else if (a.restored.empty()) {
        CHECK(contains(a.error, "Input/output error"));
        const bool of_checkpoint = contains(a.error, "model.ckpt-2");
        CHECK((strict || !listed || !of_checkpoint));
        passed_over += strict && of_checkpoint ? 1 : 0;
      }
    }
    CHECK(passed_over >= 3);  // the open, and the reads of the table and of the values
  }
}

TEST_CASE("saver: tries every checkpoint while the device keeps failing", "[train]") {
  int none = 0;
  int older = 0;  // rare: a slow build begins near such a seed, and ends after one of each kind
  const auto enough = [&] { return slow_build && none > 0 && older > 0; };
  for (std::uint64_t seed = slow_build ? 150 : 0; seed < 400 && !enough(); ++seed) {
    world w(seed, {.files = {.faults = {.io_error = 0.3}}});
    w.run([&](world&) -> task<> {
      program p;
      saver_options options = p.options();
      options.recover_last_checkpoints = false;
      saver s = co_await saver::open("/d", p.what, std::move(options));
      int failures = 0;
      co_await retry_until_success([&] { return save(s, p, 1); }, failures);
      co_await retry_until_success([&] { return save(s, p, 2); }, failures);
      std::string restored;
      const auto restore = [](saver& of, std::string& to) -> task<> {
        to = (co_await of.restore_latest()).value_or("");
      };
      const outcome o = co_await outcome_of(restore(s, restored));
      if (restored == "/d/model.ckpt-1") {
        CHECK(p.refused == names{"/d/model.ckpt-2"});
        ++older;
      } else if (restored.empty() && contains(o.text, "/d/model.ckpt")) {
        CHECK(p.refused == names{"/d/model.ckpt-2", "/d/model.ckpt-1"});
        ++none;
      }
    });
  }
  CHECK(older > 0);
  CHECK(none > 0);
}

TEST_CASE("saver: a system error of an object ends the search", "[train]") {
  in_world([](world&) -> task<> {
    struct broken : object {
      using object::object;
      void restore(std::string_view) {
        throw leat::failure(errc::permission_denied, "no right to read its file");
      }
    };
    broken b("x");
    checkpoint_registry what;
    what.add("broken", b);
    saver s = co_await saver::open("/d", what);
    co_await s.save(1);
    co_await s.save(2);
    CHECK(contains(co_await message_of(s.restore_latest(), errc::permission_denied),
                   "/d/model.ckpt-2: entry 'broken' is rejected: no right"));
  });
}

}  // namespace saver_restore_test
