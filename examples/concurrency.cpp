/// Runs tasks concurrently and collects their results. Sleeps stand for requests to other services.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

leat::task<std::string> load_name(int user) {
  co_await leat::sleep_for(2ms);
  co_return "user " + std::to_string(user);
}

leat::task<int> count_orders(int user) {
  co_await leat::sleep_for(1ms);
  co_return 10 * user;
}

//! [when_all]
leat::task<std::string> describe(int user) {
  const auto loaded = co_await leat::when_all(load_name(user), count_orders(user));
  const auto& [name, orders] = loaded;
  co_return name + " has " + std::to_string(orders) + " orders";
}
//! [/when_all]

//! [limit]
leat::task<std::string> answer(int user, leat::time_span limit) {
  auto text = co_await leat::as_tuple(leat::with_timeout(describe(user), limit));
  if (text.error == leat::errc::deadline_exceeded) co_return "try again later";
  if (text.error) throw leat::failure(text.error, "user " + std::to_string(user));
  co_return std::move(text.value);
}
//! [/limit]

leat::task<std::string> ask(const char* server, leat::duration delay) {
  co_await leat::sleep_for(delay);
  co_return server;
}

//! [when_any]
leat::task<std::string> ask_both() {
  const auto answers = co_await leat::when_any(ask("mirror", 1ms), ask("origin", 1h));
  const auto& [mirror, origin] = answers;
  co_return mirror ? *mirror : *origin;  // both have a value if both were answered
}
//! [/when_any]

std::set<std::string> failed_before;

leat::task<std::size_t> download(std::string page) {
  co_await leat::sleep_for(1ms);
  if (page.size() == 3 && failed_before.insert(page).second) {
    throw leat::failure(leat::errc::unavailable, "server of " + page);
  }
  co_return page.size();
}

//! [retry]
leat::task<std::size_t> download_with_retries(const std::string& page) {
  leat::retry_policy policy{.attempts = 4, .first_delay = 1ms};
  policy.retried = std::vector{leat::errc::unavailable, leat::errc::deadline_exceeded};
  const auto attempt = [&]() -> leat::task<std::size_t> {
    co_return co_await leat::with_timeout(download(page), 10s);
  };
  co_return co_await leat::retry(attempt, policy);
}
//! [/retry]

//! [map]
leat::task<std::vector<std::size_t>> download_all(const std::vector<std::string>& pages) {
  co_return co_await leat::map_concurrent(pages, 50, download_with_retries);
}
//! [/map]

//! [for_each]
leat::task<std::size_t> download_into(std::set<std::string>& done,
                                      const std::vector<std::string>& pages) {
  std::size_t total = 0;
  const auto visit = [&](const std::string& page) -> leat::task<> {
    const std::size_t size = co_await download(page);
    total += size;
    done.insert(page);  // needs no lock: all tasks run on one scheduler
  };
  co_await leat::for_each_concurrent(pages, 50, visit);
  co_return total;
}
//! [/for_each]

//! [group]
leat::task<> produce(leat::fifo_queue<std::string>& lines) {
  for (int i = 0; i < 3; ++i) {
    if (!co_await lines.push("line")) break;  // another task has closed the queue
  }
  lines.close();
}

leat::task<std::size_t> count_letters() {
  leat::fifo_queue<std::string> lines(2, "lines");
  const auto body = [&](leat::task_group& group) -> leat::task<std::size_t> {
    group.spawn(produce(lines), "producer");
    std::size_t letters = 0;
    while (const auto line = co_await lines.pop()) letters += line->size();
    co_return letters;
  };
  co_return co_await leat::with_task_group(body);  // returns after the producer, too, has finished
}
//! [/group]

leat::task<> show_all() {
  std::puts((co_await describe(3)).c_str());
  std::puts((co_await answer(4, 10s)).c_str());
  std::puts((co_await answer(5, 0s)).c_str());
  std::puts((co_await ask_both()).c_str());
  const std::vector<std::string> pages{"a", "bb", "ccc", "dddd"};
  for (const std::size_t size : co_await download_all(pages)) std::printf("%zu ", size);
  std::set<std::string> done;
  std::printf("= %zu\n", co_await download_into(done, pages));
  std::printf("%zu letters\n", co_await count_letters());
}

int main() { return leat::run(show_all()); }
