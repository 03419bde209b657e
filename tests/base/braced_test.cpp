#include "leat/base/braced.hpp"

#include <coroutine>
#include <functional>

#include "support/leat_test.hpp"

namespace braced_test {

using leat::braced;
using leat::option_function;
using leat::option_list;
using leat::option_string;
using texts = std::vector<std::string>;

const std::string long_text = "a text that is too long to be kept in the string itself";

struct entry {
  option_string from = {};
  option_string to = {};
};

struct nested {
  int number = 1;
  option_string text = "inner";
};

struct options {
  int number = 1;
  option_string name = "default";
  braced<texts> names = {"x", "y"};
  option_list<entry> entries = {};
  option_function<int()> function = {};
  braced<std::shared_ptr<int>> owner = {};
  nested inside = {};
};

task<options> given(options o) { co_return o; }

struct given_later {
  options held;
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  options await_resume() { return std::move(held); }
};

// Not a coroutine: its parameter is the object that the caller's expression makes.
given_later moved(options o) { return {std::move(o)}; }
given_later renamed(options o) {
  o.name = o.name + " again";
  o.names = {"changed"};
  return {std::move(o)};
}

LEAT_REAL_TIME_TEST("braced: strings in braces arrive in a coroutine") {
  const options none = co_await given({});
  CHECK(none.name == "default");
  CHECK(none.names == texts{"x", "y"});
  const options brief = co_await given({.name = "s"});
  CHECK(brief.name == "s");
  const options lengthy = co_await given({.name = long_text, .inside = {.text = "t"}});
  CHECK(lengthy.name == long_text);
  CHECK(lengthy.inside.text == "t");
}

LEAT_REAL_TIME_TEST("braced: lists in braces arrive in a coroutine") {
  const options one = co_await given({.names = {"a"}});
  CHECK(one.names == texts{"a"});
  const options several = co_await given({.names = {"a", long_text, "c"}});
  CHECK(several.names == texts{"a", long_text, "c"});
  const options structs = co_await given({.entries = {{"a", long_text}, {.from = "c", .to = "d"}}});
  REQUIRE(structs.entries.size() == 2);
  CHECK(structs.entries[0].to == long_text);
  CHECK(structs.entries[1].from == "c");
}

LEAT_REAL_TIME_TEST("braced: functions and pointers in braces arrive in a coroutine") {
  const auto five = [held = std::make_shared<int>(5)] { return *held; };
  const options o = co_await given({.function = five, .owner = std::make_shared<int>(7)});
  CHECK(o.function() == 5);
  CHECK(o.owner.use_count() == 1);
}

LEAT_REAL_TIME_TEST("braced: a plain function can move and assign options") {
  const options same = co_await moved({.name = "s", .names = {"a", long_text}});
  CHECK(same.name == "s");
  CHECK(same.names == texts{"a", long_text});
  const options changed = co_await renamed({.name = "s", .names = {"a", long_text}});
  CHECK(changed.name == "s again");
  CHECK(changed.names == texts{"changed"});
}

LEAT_REAL_TIME_TEST("braced: an exception during construction destroys each member once") {
  const auto fail = []() -> std::string { throw std::runtime_error("no name"); };
  bool thrown = false;
  try {
    co_await given({.name = long_text, .inside = {.text = fail()}});
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown);
}

TEST_CASE("braced: options are used as with plain members") {
  options o{.name = "n"};
  o.names.push_back("z");
  CHECK(o.names.size() == 3);
  o.names = {"a", "b"};
  o.name = "m";
  const std::string copy = o.name;
  CHECK((o.name == copy && o.name + "/" == "m/" && o.name != "x"));
  const std::string chosen = o.number > 0 ? o.name : copy + "?";
  CHECK(chosen == "m");
  const std::string taken = std::move(o.name);
  CHECK(taken == "m");
  const options other = o;
  CHECK(other.names == texts{"a", "b"});
}

TEST_CASE("braced: a std::function of an empty braced function is empty") {
  options o;
  const std::function<int()> empty = o.function;
  CHECK_FALSE(empty);
  o.function = [] { return 3; };
  const std::function<int()> full = std::move(o.function);
  CHECK(full() == 3);
}

}  // namespace braced_test
