#include "leat/async/this_task.hpp"

#include "support/leat_test.hpp"

namespace this_task_test {

namespace this_task = leat::this_task;

task<leat::task_context*> context_of() { co_return &this_task::get_context(); }

LEAT_TEST("this_task: an awaited child has the context of its parent") {
  leat::task_context& mine = this_task::get_context();
  CHECK(co_await context_of() == &mine);
}

LEAT_TEST("this_task: a spawned task has a context of its own") {
  leat::task_context* other = nullptr;
  task_group group;
  group.spawn([](leat::task_context*& c) -> task<void> { c = co_await context_of(); }(other));
  co_await group.join();
  CHECK(other != nullptr);
  CHECK(other != &this_task::get_context());
}

LEAT_TEST("context: has the name, scheduler and location of the spawn") {
  struct seen {
    std::string name;
    leat::scheduler* sched = nullptr;
    leat::task_scope* scope = nullptr;
    std::uint_least32_t line = 0;
  } s;
  const auto look = [](seen& out) -> task<void> {
    const leat::task_context& c = this_task::get_context();
    out = {std::string(c.name()), &c.get_scheduler(), &c.scope(), c.spawned_at().line()};
    co_return;
  };
  task_group group;
  const auto line = std::source_location::current().line() + 1;
  group.spawn(look(s), "looker");
  co_await group.join();
  CHECK(s.name == "looker");
  CHECK(s.sched == leat::scheduler::current());
  CHECK(s.scope == &group);
  CHECK(s.line == line);
}

LEAT_TEST("context: a name is a copy, and may be missing") {
  std::vector<std::string> names;
  const auto look = [](std::vector<std::string>& out) -> task<void> {
    out.emplace_back(this_task::get_context().name());
    co_return;
  };
  task_group group;
  {
    std::string name = "a name that is longer than any small buffer, and then some";
    group.spawn(look(names), name);
    name.assign(name.size(), 'x');
  }
  group.spawn(look(names));
  co_await group.join();
  CHECK(names ==
        std::vector<std::string>{"a name that is longer than any small buffer, and then some", ""});
}

LEAT_TEST("context: a running task has no wait") {
  CHECK(this_task::get_context().waiting() == nullptr);
  co_return;
}

LEAT_TEST("this_task: get_scheduler() returns the running scheduler") {
  CHECK(&this_task::get_scheduler() == leat::scheduler::current());
  co_return;
}

LEAT_TEST("this_task: stop_requested and the token see the request of the owner") {
  bool before = true;
  bool after = false;
  bool by_token = false;
  bool by_context = false;
  task_group group;
  const auto look = [](task_group& g, bool& b, bool& a, bool& t, bool& c) -> task<void> {
    const std::stop_token token = this_task::get_stop_token();
    b = this_task::stop_requested();
    g.request_stop();
    a = this_task::stop_requested();
    t = token.stop_requested();
    c = this_task::get_context().stop_requested();
    co_return;
  };
  group.spawn(look(group, before, after, by_token, by_context));
  co_await group.join();
  CHECK_FALSE(before);
  CHECK(after);
  CHECK(by_token);
  CHECK(by_context);
}

LEAT_TEST("this_task: a callback on the stop token is called by the request") {
  bool called = false;
  task_group group;
  const auto listen = [](task_group& g, bool& c) -> task<void> {
    const std::stop_callback callback(this_task::get_stop_token(), [&c] { c = true; });
    g.request_stop();
    co_return;
  };
  group.spawn(listen(group, called));
  co_await group.join();
  CHECK(called);
}

LEAT_TEST("this_task: yield lets every other ready task run first") {
  std::string order;
  const auto steps = [](std::string& out, char c) -> task<void> {
    for (int i = 0; i < 3; ++i) {
      out += c;
      co_await this_task::yield();
    }
  };
  task_group group;
  for (const char c : std::string_view("abc")) group.spawn(steps(order, c));
  co_await group.join();
  CHECK(order == "abcabcabc");
}

LEAT_TEST("this_task: yield is not cancelled by a stop") {
  int steps = 0;
  task_group group;
  group.request_stop();
  group.spawn([](int& n) -> task<void> {
    for (; n < 5; ++n) co_await this_task::yield();
  }(steps));
  co_await group.join();
  CHECK(steps == 5);
}

}  // namespace this_task_test
