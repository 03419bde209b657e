#include "leat/async/tracing/task_local.hpp"

#include <ostream>

#include "support/dump.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace task_local_test {

constinit leat::task_local<int> id("id");
constinit leat::task_local<std::string> word;

task<> sleep_an_hour() { co_await leat::sleep_for(1h); }

int id_or_zero() { return id.get() ? *id.get() : 0; }
std::string id_text() { return id.get() ? std::to_string(*id.get()) : "none"; }

task<int> get_id() { co_return id_or_zero(); }
task<int> get_id_deep(int depth) {
  if (depth == 0) co_return id_or_zero();
  co_return co_await get_id_deep(depth - 1);
}
task<> store_id(int& out) {
  co_await leat::this_task::yield();
  out = id_or_zero();
}

LEAT_TEST("task_local: a task without a value and a thread without a task have none") {
  CHECK(id.get() == nullptr);
  CHECK(co_await get_id() == 0);
}

TEST_CASE("task_local: outside tasks there is no value") { CHECK(id.get() == nullptr); }

LEAT_TEST("task_local: the body has the value, and its caller does not") {
  CHECK(co_await id.with(7, get_id()) == 7);
  CHECK(id.get() == nullptr);
}

LEAT_TEST("task_local: a value reaches tasks that are awaited deep below") {
  CHECK(co_await id.with(7, get_id_deep(1'000)) == 7);
}

task<std::vector<int>> nest() {
  std::vector<int> seen{id_or_zero()};
  seen.push_back(co_await id.with(2, get_id()));
  seen.push_back(id_or_zero());
  co_return seen;
}

LEAT_TEST("task_local: a nested value hides the outer one until it ends") {
  const std::vector<int> seen = co_await id.with(1, nest());
  CHECK(seen == std::vector{1, 2, 1});
}

task<std::string> get_both() { co_return *word.get() + std::to_string(id_or_zero()); }

LEAT_TEST("task_local: values of two task-locals do not hide each other") {
  CHECK(co_await word.with("a", id.with(3, get_both())) == "a3");
  CHECK(co_await id.with(4, word.with("b", get_both())) == "b4");
}

task<> spawn_children(std::vector<int>& seen, task_group& elsewhere) {
  task_group group;
  group.spawn(store_id(seen[0]));
  group.spawn(store_id(seen[1]), "named");
  elsewhere.spawn(store_id(seen[2]));
  co_await group.join();
}

LEAT_TEST("task_local: spawned tasks inherit the value, also if they outlive with()") {
  std::vector<int> seen(3);
  task_group elsewhere;
  co_await id.with(5, spawn_children(seen, elsewhere));
  co_await elsewhere.join();
  CHECK(seen == std::vector{5, 5, 5});
}

task<std::string> get_own_name() {
  const std::string name(leat::this_task::get_context().name());
  co_return name + std::to_string(id_or_zero());
}
task<> store_name(std::string& out) { out = co_await get_own_name(); }
task<> spawn_named(std::string& out) {
  task_group group;
  group.spawn(store_name(out), "a name");
  co_await group.join();
}

LEAT_TEST("task_local: a task that inherits a value keeps its name") {
  std::string seen;
  co_await id.with(6, spawn_named(seen));
  CHECK(seen == "a name6");
}

task<int> spawn_in_spawned() {
  auto [a, b] = co_await leat::when_all(get_id(), id.with(9, get_id()));
  co_return 10 * a + b;
}

LEAT_TEST("task_local: when_all() inherits the value, and a branch can have its own") {
  CHECK(co_await id.with(8, spawn_in_spawned()) == 89);
}

leat::async_generator<int> ids() {
  co_yield id_or_zero();
  co_yield co_await id.with(2, get_id());
  co_yield id_or_zero();
}
task<std::vector<int>> read_ids() {
  std::vector<int> seen;
  auto all = ids();
  while (std::optional<int> next = co_await all.next()) seen.push_back(*next + 100 * id_or_zero());
  co_return seen;
}

LEAT_TEST("task_local: a generator has the value of the task that awaits next()") {
  const std::vector<int> seen = co_await id.with(1, read_ids());
  CHECK(seen == std::vector{101, 102, 101});
}

LEAT_TEST("task_local: a dump shows named values, as text and as JSON") {
  task_group group;
  group.spawn(id.with(1, id.with(42, word.with("hidden", sleep_an_hour()))));
  co_await leat::this_task::yield();
  const std::string text = leat_test::dump();
  const std::string json = leat_test::dump(leat::dump_format::json);
  group.request_stop();
  co_await group.join();
  CHECK_THAT(text, Catch::Contains(" with id 42\n"));
  CHECK_THAT(text, !Catch::Contains("with id 1\n") && !Catch::Contains("hidden"));
  CHECK_THAT(json, Catch::Contains(R"("values": {"id": "42"})") ||
                       Catch::Contains(R"("values":{"id":"42"})"));
}

struct unprintable_number {
  int value = 0;
};
std::ostream& operator<<(std::ostream&, const unprintable_number&) {
  throw std::runtime_error("not printable");
}

LEAT_TEST("task_local: a dump notes a value whose operator<< throws") {
  static leat::task_local<unprintable_number> number("number");
  task_group group;
  group.spawn(number.with({7}, sleep_an_hour()));
  co_await leat::this_task::yield();
  const std::string text = leat_test::dump();
  group.request_stop();
  co_await group.join();
  CHECK_THAT(text, Catch::Contains("with number (cannot be printed)"));
}

task<> fail() {
  co_await leat::this_task::yield();
  throw std::runtime_error("failed");
}

LEAT_TEST("task_local: an exception leaves with() and removes the value") {
  CHECK(co_await throws<std::runtime_error>(id.with(1, fail())));
  CHECK(id.get() == nullptr);
}

task<int*> get_pointer(leat::task_local<std::shared_ptr<int>>& local) {
  co_return local.get()->get();
}

LEAT_TEST("task_local: the value is destroyed when the last task with it has ended") {
  static leat::task_local<std::shared_ptr<int>> shared;
  const auto value = std::make_shared<int>(1);
  CHECK(co_await shared.with(value, get_pointer(shared)) == value.get());
  CHECK(value.use_count() == 1);

  task_group group;
  group.spawn(shared.with(value, sleep_an_hour()));
  co_await leat::this_task::yield();
  CHECK(value.use_count() > 1);
  group.request_stop();
  co_await group.join();
  CHECK(value.use_count() == 1);
}

LEAT_TEST("task_local: a body that never starts gives its value back") {
  static leat::task_local<std::shared_ptr<int>> shared;
  const auto value = std::make_shared<int>(1);
  {
    const auto unstarted = shared.with(value, get_pointer(shared));
  }
  CHECK(value.use_count() == 1);
  co_return;
}

task<int> run_elsewhere(leat::scheduler& there) {
  co_return co_await leat::run_on(there, get_id());
}

TEST_CASE("task_local: run_on() takes the value to another scheduler") {
  leat::runtime pool({.threads = 2});
  CHECK(leat::block_on(id.with(3, run_elsewhere(pool.next_scheduler()))) == 3);
}

LEAT_TEST("task_local: a function of run_blocking() sees the values of its task") {
  const auto read = [](const std::string& expected) -> task<> {
    const auto text = [] { return id_text(); };
    CHECK(co_await leat::run_blocking(text) == expected);
  };
  co_await read("none");
  co_await id.with(7, read("7"));
  co_await read("none");
}

LEAT_REAL_TIME_TEST("task_local: a function on a thread of a pool sees the values of its task") {
  leat::blocking_pool pool({.threads = 1});
  const auto read = [](leat::blocking_pool& b, std::string expected) -> task<> {
    const auto text = [] { return id_text(); };
    CHECK(co_await leat::run_blocking(b, text) == expected);
  };
  co_await id.with(7, read(pool, "7"));
  co_await leat::with_timeout(id.with(8, read(pool, "8")), 1h);
  co_await read(pool, "none");
}

// Notes the value that its destructor sees.
struct seen_at_end {
  std::string& text;
  ~seen_at_end() { text += id_text() + ' '; }
};

LEAT_LOOP_TEST("task_local: destructors of a task that ends with its loop see the values") {
  std::string text;
  task_group group;
  TestType loop;
  const auto inner = [](std::string& t) -> task<> {
    const seen_at_end here{t};
    co_await leat::sleep_for(1h);
  };
  const auto middle = [](std::string& t, task<> next) -> task<> {
    const seen_at_end here{t};
    co_await id.with(2, std::move(next));
  };
  const auto outer = [](std::string& t, task<> next) -> task<> {
    const seen_at_end here{t};
    co_await id.with(1, std::move(next));
  };
  group.spawn_on(loop.get_scheduler(), outer(text, middle(text, inner(text))));
  loop.run_ready();
  loop.end();
  CHECK(text == "2 1 none ");
  CHECK(leat_test::is_cancelled(group));
}

LEAT_LOOP_TEST("task_local: values are freed with a loop that is destroyed") {
  static leat::task_local<std::shared_ptr<int>> shared;
  const auto value = std::make_shared<int>(1);
  task_group group;
  TestType loop;
  const auto parent = [&]() -> task<> {
    task_group children;
    children.spawn(sleep_an_hour());
    co_await children.join();
  };
  group.spawn_on(loop.get_scheduler(), shared.with(value, parent()));
  loop.run_ready();
  CHECK(value.use_count() > 1);
  loop.end();
  CHECK(leat_test::is_cancelled(group));
  CHECK(value.use_count() == 1);
}

}  // namespace task_local_test
