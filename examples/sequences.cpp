/// Produces sequences of values, uses a second thread, and works at fixed times. Sleeps stand for
/// requests to other services.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <stop_token>
#include <string>
#include <thread>
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

//! [run_on]
leat::task<std::size_t> count_words(std::string text) {
  co_return static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
}

leat::task<std::size_t> count_on_another_thread(leat::runtime& rt, std::string text) {
  co_return co_await leat::run_on(rt.next_scheduler(), count_words(std::move(text)));
}
//! [/run_on]

//! [run_blocking]
std::size_t count_slowly(const std::string& text, std::stop_token stop) {
  std::size_t count = 0;
  for (const char c : text) {
    if (stop.stop_requested()) throw leat::failure(leat::errc::cancelled, "count_slowly");
    std::this_thread::sleep_for(100us);  // blocks its thread, as a query of a database does
    count += c == 'e';
  }
  return count;
}

leat::task<std::size_t> count_without_blocking(std::string text) {
  const auto count = [&](std::stop_token stop) { return count_slowly(text, std::move(stop)); };
  co_return co_await leat::with_timeout(leat::run_blocking(count), 10s);
}
//! [/run_blocking]

//! [interval]
leat::task<> measure(int samples, std::vector<std::size_t>& measured) {
  leat::interval every(2ms, leat::missed_tick_policy::skip);
  for (int i = 0; i < samples; ++i) {
    co_await every.tick();
    measured.push_back(co_await count_letters(1));
  }
}
//! [/interval]

leat::task<> show_all(leat::runtime& rt) {
  std::printf("%zu letters\n", co_await count_letters(4));
  std::printf("%zu words\n", co_await count_on_another_thread(rt, "counted on another thread"));
  std::printf("%zu e\n", co_await count_without_blocking("some letters"));
  std::vector<std::size_t> measured;
  co_await measure(3, measured);
  std::printf("%zu samples\n", measured.size());
}

int main() {
  leat::runtime rt({.threads = 2});
  return leat::run(show_all(rt));
}
