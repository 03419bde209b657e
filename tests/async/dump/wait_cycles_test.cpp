#include "async/dump/wait_cycles.hpp"
#include "support/leat_test.hpp"

namespace wait_cycles_test {

using leat::task_id;
using leat::detail::find_cycles;
using leat::detail::scope_state;
using leat::detail::task_state;
using leat::detail::wait_state;

task_state running(task_id id, std::string name) {
  task_state t;
  t.id = id;
  t.name = std::move(name);
  t.answered = true;
  return t;
}

task_state pushing(task_id id, std::string name, std::vector<task_id> poppers) {
  task_state t = running(id, std::move(name));
  t.waiting = wait_state{"push to", "queue 'q' (4 of 4)", {}, {}};
  t.waiting->object.partners = std::move(poppers);
  return t;
}

task_state joining(task_id id, std::string name, std::uint64_t scope, bool certain = true) {
  task_state t = running(id, std::move(name));
  t.waiting = wait_state{"join", "task group 'g'", {}, {}};
  t.waiting->object.scope = scope;
  t.waiting->object.certain = certain;
  return t;
}

scope_state scope(std::uint64_t number, std::vector<task_state> tasks) {
  scope_state s;
  s.number = number;
  s.tasks = std::move(tasks);
  return s;
}

TEST_CASE("find_cycles: finds tasks that join each other's scope") {
  const auto found = find_cycles(
      {scope(1, {joining({1, 1}, "a", 2)}), scope(2, {joining({2, 1}, "b", 1)})}, false);
  REQUIRE(found.size() == 1);
  CHECK(found[0].certain);
  CHECK(found[0].tasks == std::vector<task_id>{{1, 1}, {2, 1}});
  CHECK(found[0].text ==
        "these wait for each other: 'a' (join task group 'g') -> 'b' (join task group 'g') -> 'a'");
}

TEST_CASE("find_cycles: marks a cycle with a join that has a deadline as probable") {
  const auto found = find_cycles(
      {scope(1, {joining({1, 1}, "a", 2, false)}), scope(2, {joining({2, 1}, "b", 1)})}, false);
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].certain);
  CHECK(found[0].text.starts_with("these probably wait for each other: 'a'"));
}

TEST_CASE("find_cycles: a join is stuck if one of its tasks is stuck") {
  const auto found = find_cycles({scope(1, {joining({1, 1}, "a", 2)}),
                                  scope(2, {running({2, 1}, "r"), joining({2, 2}, "b", 1)})},
                                 false);
  REQUIRE(found.size() == 1);
  CHECK(found[0].tasks == std::vector<task_id>{{1, 1}, {2, 2}});
}

TEST_CASE("find_cycles: a push is not stuck if one of the consumers is not stuck") {
  const task_state a = pushing({1, 1}, "a", {{1, 2}, {1, 3}});
  const task_state b = pushing({1, 2}, "b", {{1, 1}});
  const auto with = [&](const task_state& third) {
    return find_cycles({scope(1, {a, b, third})}, false).size();
  };
  CHECK(with(running({1, 3}, "c")) == 0);
  CHECK(with(pushing({1, 3}, "c", {})) == 0);        // waits for an unknown task
  CHECK(with(pushing({1, 3}, "c", {{1, 1}})) == 1);  // stuck like the others
  CHECK(with(running({1, 4}, "d")) == 1);            // c has ended, and d is unrelated
}

TEST_CASE("find_cycles: a wait that code outside tasks may end is not in a cycle") {
  const auto found = find_cycles(
      {scope(1, {pushing({1, 1}, "a", {{1, 2}, {}}), pushing({1, 2}, "b", {{1, 1}})})}, false);
  CHECK(found.empty());
}

TEST_CASE("find_cycles: treats a task of a scope that was not asked as alive") {
  const std::vector<scope_state> scopes{
      scope(1, {pushing({1, 1}, "a", {{1, 2}, {7, 1}}), pushing({1, 2}, "b", {{1, 1}})})};
  CHECK(find_cycles(scopes, true).empty());
  CHECK(find_cycles(scopes, false).size() == 1);  // all scopes were asked: scope 7 has ended
}

TEST_CASE("find_cycles: excludes tasks that wait for a cycle, and separates two cycles") {
  const auto found =
      find_cycles({scope(1, {joining({1, 1}, "waiter", 2)}),
                   scope(2, {pushing({2, 1}, "a", {{2, 2}}), pushing({2, 2}, "b", {{2, 1}}),
                             pushing({2, 3}, "c", {{2, 4}}), pushing({2, 4}, "d", {{2, 3}})})},
                  false);
  REQUIRE(found.size() == 2);
  CHECK(found[0].tasks == std::vector<task_id>{{2, 1}, {2, 2}});
  CHECK(found[1].tasks == std::vector<task_id>{{2, 3}, {2, 4}});
}

TEST_CASE("find_cycles: finds a task that waits for itself") {
  const auto found = find_cycles({scope(1, {pushing({1, 1}, "a", {{1, 1}})})}, false);
  REQUIRE(found.size() == 1);
  CHECK(found[0].text == "this probably waits for itself: 'a' (push to queue 'q' (4 of 4)) -> 'a'");
}

TEST_CASE("find_cycles: includes threads") {
  scope_state s = scope(1, {pushing({1, 1}, "a", {{1, 2}})});
  auto& thread = s.threads.emplace_back();
  thread.id = {1, 2};
  thread.name = "t";
  thread.waiting = pushing({}, "", {{1, 1}}).waiting;
  REQUIRE(find_cycles({s}, false).size() == 1);
  s.threads[0].waiting.reset();
  CHECK(find_cycles({s}, false).empty());
}

}  // namespace wait_cycles_test
