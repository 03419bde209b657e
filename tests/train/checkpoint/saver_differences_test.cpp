// Checkpoints of a program that has changed since: differences that saver_options permit, and
// differences that are rejected.

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/checkpoint/saver_support.hpp"
#include "train/supervised.hpp"

namespace saver_differences_test {

using namespace leat_test;
using leat::saver;
using leat::saver_options;
using leat::supervisor;

// Saves "a" = 1 and "b" = 2 at step 1.
task<> save_a_and_b() {
  std::int64_t a = 1;
  std::int64_t b = 2;
  leat::checkpoint_registry what("program");
  what.add("a", a);
  what.add("b", b);
  saver s = co_await saver::open("/d", what);
  co_await s.save(1);
}

// Restores into the entries that the program registers now.
struct later_program {
  std::int64_t a = 10;
  std::int64_t b = 20;
  std::int64_t c = 30;
  leat::checkpoint_registry what{"program"};
  names warnings;

  task<> restore(saver_options o) {
    o.on_warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    saver s = co_await saver::open("/d", what, std::move(o));
    co_await s.restore_latest();
  }
};

TEST_CASE("saver: rejects a missing entry unless may_be_missing names it", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    co_await save_a_and_b();
    later_program p;
    p.what.add("a", p.a);
    p.what.add("b", p.b);
    p.what.add("c", p.c);
    CHECK(contains(co_await message_of(p.restore(saver_options()), errc::not_found),
                   "saver_options::may_be_missing = {\"c\"}"));
    CHECK(p.a == 10);
    saver_options o;
    o.may_be_missing = {"c"};
    co_await p.restore(o);
    CHECK(p.a == 1);
    CHECK(p.b == 2);
    CHECK(p.c == 30);
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "/d/model.ckpt-1: restored without 'c'"));
  });
}

TEST_CASE("saver: rejects an extra entry unless may_be_extra names it", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    co_await save_a_and_b();
    later_program p;
    p.what.add("a", p.a);
    CHECK(contains(co_await message_of(p.restore(saver_options()), errc::invalid_argument),
                   "saver_options::may_be_extra = {\"b\"}"));
    saver_options other;
    other.may_be_extra = {"c"};
    CHECK(co_await code_of(p.restore(other)) == errc::invalid_argument);
    saver_options o;
    o.may_be_extra = {"b"};
    co_await p.restore(o);
    CHECK(p.a == 1);
    CHECK(p.warnings.empty());
  });
}

TEST_CASE("saver: a renamed entry is restored from its earlier name, later from its present one",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    co_await save_a_and_b();
    saver_options o;
    o.renamed = {{.from = "b", .to = "c"}};
    later_program p;
    p.what.add("a", p.a);
    p.what.add("c", p.c);
    co_await p.restore(o);
    CHECK(p.c == 2);
    CHECK(p.warnings.empty());
    p.c = 3;
    {
      saver s = co_await saver::open("/d", p.what, o);
      co_await s.save(2);
    }
    p.c = 0;
    co_await p.restore(o);
    CHECK(p.c == 3);
  });
}

TEST_CASE("saver: an entry in left_out keeps its value, even if its type changed", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    co_await save_a_and_b();
    later_program p;
    std::vector<float> b = {4, 5};
    p.what.add("a", p.a);
    p.what.add("b", b);
    CHECK(contains(co_await message_of(p.restore(saver_options()), errc::invalid_argument),
                   "saver_options::left_out = {\"b\"}"));
    saver_options o;
    o.left_out = {"b"};
    co_await p.restore(o);
    CHECK(p.a == 1);
    CHECK(b == std::vector<float>{4, 5});
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "restored without 'b'"));
  });
}

TEST_CASE("saver: an entry in renamed and left_out keeps its value, under either name", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    co_await save_a_and_b();
    saver_options o;
    o.renamed = {{.from = "b", .to = "c"}};
    o.left_out = {"c"};
    later_program p;
    p.what.add("a", p.a);
    p.what.add("c", p.c);
    p.c = 3;
    co_await p.restore(o);
    CHECK(p.a == 1);
    CHECK(p.c == 3);
    REQUIRE(p.warnings.size() == 1);
    CHECK(contains(p.warnings[0], "restored without 'c'"));
    {
      saver s = co_await saver::open("/d", p.what, o);
      co_await s.save(2);
    }
    p.c = 4;
    co_await p.restore(o);
    CHECK(p.c == 4);
  });
}

TEST_CASE("saver: rejects a misspelt name in the lists of permitted differences", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    co_await save_a_and_b();
    later_program p;
    p.what.add("a", p.a);
    p.what.add("b", p.b);
    std::vector<saver_options> wrong(5);
    wrong[0].may_be_missing = {"x"};
    wrong[1].left_out = {"x"};
    wrong[2].may_be_extra = {"a"};
    wrong[3].renamed = {{.from = "x", .to = "y"}};
    wrong[4].renamed = {{.from = "a", .to = "b"}};
    for (const saver_options& o : wrong) {
      CHECK(co_await code_of(p.restore(o)) == errc::invalid_argument);
    }
    CHECK(p.a == 10);
  });
}

using lines = leat::pipeline<std::vector<std::string>>;

lines first_input() {
  return leat::read_files<leat::line_reader>({.files = {"/in"}, .num_epochs = 1})
      .map("text", [](std::string_view line) { return std::string(line); });
}
lines second_input() {
  return leat::read_files<leat::line_reader>({.files = {"/in"}, .num_epochs = 1})
      .map("text", [](std::string_view line) { return std::string(line); })
      .map("same", [](std::string text) { return text; });
}

// Takes `count` lines and returns the last one.
task<std::string> learn_lines(learner& l, lines input, leat::supervisor_options o, int count) {
  l.state.add("input", input);
  supervisor sv(std::move(o));
  std::string last;
  co_await sv.managed([&]() -> task<> {
    for (; count > 0; --count) {
      const auto line = co_await input.next();
      if (!line) break;
      last = *line;
      l.learn();
    }
    co_await input.stop();
  });
  co_return last;
}

TEST_CASE("supervisor: keeps the weights and restarts the input after a stage was added",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    w.files().write_file("/in", "1\n2\n3\n4\n5\n6\n");
    {
      learner l;
      CHECK(co_await learn_lines(l, first_input(), l.options(), 4) == "4");
    }
    {
      learner l;
      const std::string why = co_await message_of(learn_lines(l, second_input(), l.options(), 1));
      CHECK(contains(why, "entry 'input' is rejected"));
      CHECK(contains(why, "saver_options::left_out = {\"input\"}"));
    }
    const auto restarting = [](learner& l) {
      leat::supervisor_options o = l.options();
      o.saver.left_out = {"input"};
      return o;
    };
    {
      learner l;  // makes no step, but saves for the next start without the option
      CHECK(co_await learn_lines(l, second_input(), restarting(l), 0) == "");
      CHECK(l.step == 4);
    }
    {
      learner l;
      CHECK(co_await learn_lines(l, second_input(), l.options(), 2) == "2");
      CHECK(l.step == 6);
      CHECK(l.weight == 4);
    }
    learner l;
    CHECK(co_await learn_lines(l, second_input(), l.options(), 1) == "3");
  });
}

}  // namespace saver_differences_test
