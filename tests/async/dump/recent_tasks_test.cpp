#include "leat/async/dump/internal/recent_tasks.hpp"

#include "support/leat_test.hpp"

namespace recent_tasks_test {

using leat::task_id;
using leat::detail::recent_tasks;

TEST_CASE("recent_tasks: lists the latest first, each once") {
  recent_tasks r;
  CHECK(r.all().empty());
  for (const unsigned i : {1U, 2U, 3U, 1U}) r.remember({1, i});
  CHECK(r.all() == std::vector<task_id>{{1, 1}, {1, 3}, {1, 2}});
}

TEST_CASE("recent_tasks: two alternating tasks do not displace others") {
  recent_tasks r;
  r.remember({1, 7});
  for (int i = 0; i < 100; ++i) r.remember({1, 1U + static_cast<unsigned>(i % 2)});
  CHECK(r.all() == std::vector<task_id>{{1, 2}, {1, 1}, {1, 7}});
}

TEST_CASE("recent_tasks: the oldest is forgotten") {
  recent_tasks r;
  for (std::uint64_t i = 1; i <= 10; ++i) r.remember({1, i});
  const auto all = r.all();
  REQUIRE(all.size() == recent_tasks::limit);
  CHECK(all.front() == task_id{1, 10});
  CHECK(all.back() == task_id{1, 3});
  r.remember({1, 3});
  CHECK(r.all().front() == task_id{1, 3});
  CHECK(r.all().back() == task_id{1, 4});
}

TEST_CASE("recent_tasks: remembers calls outside tasks") {
  recent_tasks r;
  r.remember({});
  CHECK(r.all() == std::vector<task_id>{task_id{}});
}

}  // namespace recent_tasks_test
