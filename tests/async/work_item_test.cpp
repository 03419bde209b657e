#include "leat/async/scheduler/work_item.hpp"

#include <array>

#include "support/leat_test.hpp"

namespace work_item_test {

using leat::work_item;
using leat::work_list;

std::vector<const work_item*> drain(work_list& list) {
  std::vector<const work_item*> items;
  while (const work_item* item = list.pop_front()) items.push_back(item);
  return items;
}

TEST_CASE("work_list: first in, first out") {
  std::array<work_item, 3> items;
  work_list list;
  CHECK(list.empty());
  CHECK(list.pop_front() == nullptr);
  for (work_item& item : items) list.push_back(item);
  CHECK_FALSE(list.empty());
  CHECK(drain(list) == std::vector<const work_item*>{&items[0], &items[1], &items[2]});
  CHECK(list.empty());
}

TEST_CASE("work_list: can be used again after it was empty") {
  std::array<work_item, 2> items;
  work_list list;
  list.push_back(items[0]);
  list.pop_front();
  list.push_back(items[1]);
  CHECK(drain(list) == std::vector<const work_item*>{&items[1]});
}

TEST_CASE("work_list: append() moves the items of another list to the end") {
  std::array<work_item, 4> items;
  work_list one;
  work_list two;
  one.append(two);  // both are empty
  CHECK(one.empty());
  two.push_back(items[0]);
  one.append(two);  // only `one` is empty
  CHECK(two.empty());
  two.push_back(items[1]);
  two.push_back(items[2]);
  one.append(two);
  one.append(two);  // only `two` is empty
  one.push_back(items[3]);
  CHECK(drain(one) == std::vector<const work_item*>{&items[0], &items[1], &items[2], &items[3]});
}

TEST_CASE("work_list: is empty after a move") {
  work_item item;
  work_list one;
  one.push_back(item);
  work_list two(std::move(one));
  CHECK(one.empty());
  one = std::move(two);
  CHECK(two.empty());
  CHECK(one.pop_front() == &item);
}

}  // namespace work_item_test
