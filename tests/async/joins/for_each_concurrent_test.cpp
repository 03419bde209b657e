#include "leat/async/for_each_concurrent.hpp"

#include <algorithm>
#include <list>
#include <ranges>
#include <sstream>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace for_each_concurrent_test {

using namespace task_steps;

struct counter {
  int running = 0;
  int most = 0;
  std::vector<int> begun = {};

  task<> visit(int element, leat::duration d) {
    begun.push_back(element);
    most = std::max(most, ++running);
    co_await leat::sleep_for(d);
    --running;
  }
};

task<int> twice_after(int element, leat::duration d) {
  co_await leat::sleep_for(d);
  co_return 2 * element;
}

LEAT_TEST("for_each_concurrent: visits every element in order, at most limit at a time") {
  const std::vector<int> elements{1, 2, 3, 4, 5, 6, 7, 8, 9};
  counter c;
  co_await leat::for_each_concurrent(elements, 3, [&](int e) { return c.visit(e, e * 1ms); });
  CHECK(c.begun == elements);
  CHECK(c.most == 3);
  CHECK(c.running == 0);
}

LEAT_TEST("for_each_concurrent: a slow element does not hold up the others") {
  const stopwatch time;
  const std::vector<int> seconds{10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  counter c;
  co_await leat::for_each_concurrent(seconds, 2, [&](int s) { return c.visit(s, s * 1s); });
  CHECK(time.elapsed() == 10s);
}

LEAT_TEST("for_each_concurrent: an empty range ends immediately") {
  counter c;
  co_await leat::for_each_concurrent(std::vector<int>(), 3, [&](int e) { return c.visit(e, 1s); });
  CHECK(c.begun.empty());
}

LEAT_TEST("for_each_concurrent: a limit of 0 fails with invalid_argument") {
  counter c;
  const std::vector<int> one{1};
  const leat_test::outcome o =
      co_await outcome_of(leat::for_each_concurrent(one, 0, [&](int e) { return c.visit(e, 1s); }));
  CHECK(o.code == errc::invalid_argument);
  CHECK(contains(o.text, "limit is 0"));
  CHECK(c.begun.empty());
}

LEAT_TEST("for_each_concurrent: a limit beyond the size starts one task for each element") {
  counter c;
  const std::vector<int> elements{1, 2, 3};
  co_await leat::for_each_concurrent(elements, std::size_t(-1),
                                     [&](int e) { return c.visit(e, 1s); });
  CHECK(c.most == 3);
}

LEAT_TEST("for_each_concurrent: a temporary range is kept until the end") {
  counter c;
  auto visits =
      leat::for_each_concurrent(std::list<int>{1, 2, 3}, 1, [&](int e) { return c.visit(e, 1s); });
  co_await std::move(visits);
  CHECK(c.begun == std::vector<int>{1, 2, 3});
}

LEAT_TEST("for_each_concurrent: an lvalue range is not copied") {
  std::vector<std::unique_ptr<int>> elements;
  for (int i = 0; i < 3; ++i) elements.push_back(std::make_unique<int>(i));
  const auto increment = [](std::unique_ptr<int>& p) -> task<> {
    ++*p;
    co_return;
  };
  co_await leat::for_each_concurrent(elements, 2, increment);
  CHECK(*elements[2] == 3);
}

LEAT_TEST("for_each_concurrent: accepts generated and single-pass ranges") {
  counter c;
  co_await leat::for_each_concurrent(std::views::iota(0, 4), 2,
                                     [&](int e) { return c.visit(e, 1s); });
  CHECK(c.begun == std::vector<int>{0, 1, 2, 3});
  std::istringstream text("5 6 7");
  c.begun.clear();
  co_await leat::for_each_concurrent(std::views::istream<int>(text), 2,
                                     [&](int e) { return c.visit(e, 1s); });
  CHECK(c.begun == std::vector<int>{5, 6, 7});
}

LEAT_TEST("for_each_concurrent: a capturing coroutine lambda is kept until the end") {
  int sum = 0;
  const std::vector<int> elements{1, 2, 3};
  const auto all = [&] {
    return leat::for_each_concurrent(elements, 2, [&sum, add = 10](int e) -> task<> {
      co_await leat::sleep_for(1s);
      sum += e + add;
    });
  };
  co_await all();
  CHECK(sum == 36);
}

LEAT_TEST("for_each_concurrent: the first error stops the others and takes no more") {
  counter c;
  const std::vector<int> elements{1, 2, 3, 4, 5, 6};
  const auto visit = [&](int e) -> task<> {
    c.begun.push_back(e);
    co_await leat::sleep_for(e * 1s);
    if (e == 2) throw std::runtime_error("element 2");
  };
  CHECK(co_await message_of<std::runtime_error>(leat::for_each_concurrent(elements, 2, visit)) ==
        "element 2");
  CHECK(c.begun == std::vector<int>{1, 2, 3});
}

LEAT_TEST("for_each_concurrent: an exception of the function itself stops the others") {
  for (const int bad : {1, 4}) {
    counter c;
    const std::vector<int> elements{1, 2, 3, 4, 5, 6};
    const auto visit = [&](int e) {
      if (e == bad) throw std::runtime_error("function");
      return c.visit(e, 1s);
    };
    CHECK(co_await message_of<std::runtime_error>(leat::for_each_concurrent(elements, 2, visit)) ==
          "function");
    CHECK(c.begun.size() <= 3);
  }
}

LEAT_TEST("for_each_concurrent: a stop of the caller ends it with cancelled") {
  counter c;
  const std::vector<int> elements{1, 2, 3, 4};
  CHECK(co_await code_of_stopped(leat::for_each_concurrent(
            elements, 2, [&](int e) { return c.visit(e, 1h); })) == errc::cancelled);
  CHECK(c.begun.size() == 2);
}

LEAT_TEST(
    "for_each_concurrent: a stop with elements left is cancelled even if the tasks returned") {
  const std::vector<int> elements{1, 2, 3, 4};
  const auto swallow = [](int) -> task<> { co_await leat::as_tuple(leat::sleep_for(1h)); };
  CHECK(co_await code_of_stopped(leat::for_each_concurrent(elements, 2, swallow)) ==
        errc::cancelled);
}

LEAT_TEST("for_each_concurrent: calls no function after an earlier stop") {
  task_group group;
  group.request_stop();
  counter c;
  std::error_code code;
  const std::vector<int> elements{1, 2, 3, 4};
  group.spawn([&]() -> task<> {
    const auto [ec] = co_await leat::as_tuple(
        leat::for_each_concurrent(elements, 2, [&](int e) { return c.visit(e, 1h); }));
    code = ec;
  });
  co_await group.join();
  CHECK(code == errc::cancelled);
  CHECK(c.begun.empty());
}

LEAT_TEST("map_concurrent: returns the results in the order of the elements") {
  const std::vector<int> elements{1, 2, 3, 4, 5};
  const std::vector<int> results = co_await leat::map_concurrent(
      elements, 3, [](int e) { return twice_after(e, (6 - e) * 1s); });
  CHECK(results == std::vector<int>{2, 4, 6, 8, 10});
}

LEAT_TEST("map_concurrent: accepts results that cannot be default-constructed or copied") {
  struct page {
    explicit page(int n) : number(std::make_unique<int>(n)) {}
    std::unique_ptr<int> number;
  };
  const auto load = [](int e) -> task<page> {
    co_await leat::sleep_for(1s);
    co_return page(e);
  };
  const auto pages = co_await leat::map_concurrent(std::views::iota(0, 5), 2, load);
  REQUIRE(pages.size() == 5);
  CHECK(*pages[4].number == 4);
}

LEAT_TEST("map_concurrent: an empty range gives an empty vector") {
  const std::vector<int> none;
  const auto results =
      co_await leat::map_concurrent(none, 3, [](int e) { return twice_after(e, 1s); });
  CHECK(results.empty());
}

LEAT_TEST("map_concurrent: a limit of 0 fails with invalid_argument") {
  const std::vector<int> none;
  const auto [ec, results] = co_await leat::as_tuple(
      leat::map_concurrent(none, 0, [](int e) { return twice_after(e, 1s); }));
  CHECK(ec == errc::invalid_argument);
}

LEAT_TEST("map_concurrent: the first error stops the others and is thrown") {
  int ended = 0;
  const auto load = [&](int e) -> task<int> {
    co_await leat::sleep_for(e * 1s);
    if (e == 2) throw std::runtime_error("element 2");
    ++ended;
    co_return e;
  };
  const std::vector<int> elements{1, 2, 3, 4};
  CHECK(co_await message_of<std::runtime_error>(leat::map_concurrent(elements, 3, load)) ==
        "element 2");
  CHECK(ended == 1);
}

LEAT_TEST("for_each_concurrent: keeps an element that its range returns by value") {
  long sum = 0;
  const auto add = [&](const int& element) -> task<> {
    co_await leat::sleep_for(1ms);
    sum += element;
  };
  co_await leat::for_each_concurrent(std::views::iota(0, 100), 7, add);
  CHECK(sum == 4950);
  const auto long_text = [](int n) { return std::string(100, static_cast<char>('a' + n)); };
  const auto last = [](const std::string& text) -> task<char> {
    co_await leat::sleep_for(1ms);
    co_return text.back();
  };
  const auto texts = std::views::iota(0, 5) | std::views::transform(long_text);
  const std::vector<char> all = co_await leat::map_concurrent(texts, 2, last);
  CHECK(all == std::vector{'a', 'b', 'c', 'd', 'e'});
}

}  // namespace for_each_concurrent_test
