/// Produces sequences of values in coroutines. Sleeps stand for requests to other services.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

leat::task<std::vector<std::string>> load_page(int page) {
  co_await leat::sleep_for(1ms);
  std::vector<std::string> orders;
  for (int i = 0; i < 3; ++i) orders.push_back("order " + std::to_string(3 * page + i));
  co_return orders;
}

//! [generator]
leat::async_generator<std::string> load_orders(int pages) {
  for (int page = 0; page < pages; ++page) {
    std::vector<std::string> loaded = co_await load_page(page);
    for (std::string& order : loaded) co_yield std::move(order);
  }
}

leat::task<std::size_t> count_letters(int pages) {
  std::size_t letters = 0;
  auto orders = load_orders(pages);
  while (const auto order = co_await orders.next()) letters += order->size();
  co_return letters;
}
//! [/generator]

leat::task<> show_all() { std::printf("%zu letters\n", co_await count_letters(4)); }

int main() { return leat::run(show_all()); }
