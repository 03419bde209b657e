/// Tasks that exclude each other, wait for each other and answer each other. Sleeps stand for work.
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

leat::task<std::string> fetch(std::string url) {
  co_await leat::sleep_for(1ms);
  co_return "page " + url;
}

//! [semaphore]
leat::semaphore connections(2, "connections");

leat::task<std::string> download(std::string url) {
  const auto permit = co_await connections.acquire();  // at most 2 downloads at a time
  co_return co_await fetch(std::move(url));
}
//! [/semaphore]

//! [rate_limiter]
leat::rate_limiter requests_per_second(100, 1s, 10, "requests");  // 100 each second, 10 at once

leat::task<std::string> ask_politely(std::string url) {
  co_await requests_per_second.acquire();
  co_return co_await fetch(std::move(url));
}
//! [/rate_limiter]

//! [delay_queue]
class sessions {
 public:
  void open(int id) { keys_[id] = idle_.insert(id, 30ms); }
  void use(int id) { idle_.reset(keys_[id], 30ms); }
  void end() { idle_.close(); }

  leat::task<> expire() {  // run it in a task
    while (const auto id = co_await idle_.pop()) {
      keys_.erase(*id);
      std::printf("session %d has been idle for 30 ms\n", *id);
    }
  }

 private:
  leat::delay_queue<int> idle_{"idle sessions"};
  std::map<int, leat::delay_key> keys_;
};
//! [/delay_queue]

leat::task<> use_sessions(sessions& all) {
  for (const int id : {1, 2}) all.open(id);
  co_await leat::sleep_for(10ms);
  all.use(1);
  all.end();  // the open sessions still expire: first 2, then 1
}

//! [mutex]
struct account {
  leat::mutex lock{"account"};
  int balance = 100;
};

leat::task<bool> withdraw(account& from, int amount) {
  const auto guard = co_await from.lock.lock();
  if (from.balance < amount) co_return false;
  co_await leat::sleep_for(1ms);  // the bank confirms; no other task can withdraw
  from.balance -= amount;
  co_return true;
}
//! [/mutex]

//! [shared_mutex]
struct table {
  leat::shared_mutex lock{"table"};
  std::map<std::string, int> rows;
};

leat::task<int> sum(table& t) {
  const auto reading = co_await t.lock.lock_shared();  // together with other readers
  int total = 0;
  for (const auto& [name, value] : t.rows) {
    co_await leat::sleep_for(100us);
    total += value;
  }
  co_return total;
}

leat::task<> insert(table& t, std::string name, int value) {
  const auto writing = co_await t.lock.lock();  // alone
  t.rows[std::move(name)] = value;
}
//! [/shared_mutex]

//! [event]
leat::task<> serve(leat::event& ready, std::vector<std::string>& log, std::string name) {
  co_await ready.wait();  // returns at once if it is set
  log.push_back(std::move(name));
}

leat::task<> load_index(leat::event& ready) {
  co_await leat::sleep_for(1ms);
  ready.set();
}

leat::task<> load_and_serve(std::vector<std::string>& log) {
  leat::event ready("index loaded");
  co_await leat::when_all(load_index(ready), serve(ready, log, "a"), serve(ready, log, "b"));
}
//! [/event]

//! [watch]
struct settings {
  int limit = 1;
};

leat::task<int> follow(leat::watch<settings>& config) {
  auto changes = config.subscribe();
  settings latest = changes.get();
  while (auto next = co_await changes.changed()) latest = *next;  // until close()
  co_return latest.limit;
}

leat::task<> wait_for_capacity(leat::watch<settings>& config) {
  co_await config.wait_until([](const settings& s) { return s.limit >= 8; });
}
//! [/watch]

//! [broadcast]
leat::task<int> read_all(leat::broadcast<std::string>::receiver messages) {
  int received = 0;
  while (const auto message = co_await messages.next()) {
    if (message->missed > 0) std::printf("missed %d\n", static_cast<int>(message->missed));
    ++received;
  }
  co_return received;
}

leat::task<> chat(leat::broadcast<std::string>& room) {
  auto ann = read_all(room.subscribe("ann"));
  for (int i = 0; i < 6; ++i) co_await room.send("hello");  // never waits
  room.close();
  std::printf("received %d\n", co_await std::move(ann));
}
//! [/broadcast]

//! [oneshot]
struct request {
  int number = 0;
  leat::oneshot<int>::sender reply;
};

leat::task<> answer(leat::fifo_queue<request>& requests) {
  while (auto r = co_await requests.pop()) r->reply.send(r->number * 2);
}

leat::task<std::optional<int>> call(leat::fifo_queue<request>& requests, int number) {
  auto [sender, receiver] = leat::oneshot<int>("reply");
  request r{number, std::move(sender)};
  const bool accepted = co_await requests.push(std::move(r));
  if (!accepted) co_return std::nullopt;
  co_return co_await leat::with_timeout(receiver.receive(), 1s);  // empty: the server has gone
}
//! [/oneshot]

//! [load_once]
struct entry {
  leat::event loaded{"load of a page"};
  std::string page;
  std::exception_ptr error;
};

class page_cache {
 public:
  leat::task<std::string> get(leat::task_group& loads, std::string url) {
    std::shared_ptr<entry>& slot = entries_[url];
    if (!slot) {
      auto missing = std::make_shared<entry>();
      loads.spawn(load(missing, url));
      slot = std::move(missing);
    }
    const std::shared_ptr<entry> wanted = slot;  // stays if the cache drops it
    co_await wanted->loaded.wait();
    if (wanted->error) std::rethrow_exception(wanted->error);
    co_return wanted->page;
  }

 private:
  leat::task<> load(std::shared_ptr<entry> to, std::string url) {
    try {
      const auto permit = co_await connections.acquire();
      to->page = co_await fetch(url);
    } catch (...) {
      to->error = std::current_exception();
      entries_.erase(url);  // the next request tries again
    }
    to->loaded.set();
  }

  std::map<std::string, std::shared_ptr<entry>> entries_;
};

leat::task<> show_twice(page_cache& cache) {  // the cache outlives the group
  const auto body = [&](leat::task_group& loads) -> leat::task<> {
    const auto both = co_await leat::when_all(cache.get(loads, "e"), cache.get(loads, "e"));
    const auto& [one, other] = both;
    std::printf("%s, %s\n", one.c_str(), other.c_str());
  };
  co_await leat::with_task_group(body);
}
//! [/load_once]

//! [notification]
leat::notification work_arrived("work arrived");  // stores at most one

leat::task<> wait_for_work() { co_await work_arrived.wait(); }
//! [/notification]

leat::task<> raise_limit(leat::watch<settings>& config) {
  config.set({.limit = 8});
  co_return;
}

leat::task<> call_once(leat::fifo_queue<request>& requests) {
  const std::optional<int> reply = co_await call(requests, 21);
  std::printf("reply %d\n", reply.value_or(-1));
  requests.close();
}

leat::task<> run_all() {
  std::vector<leat::task<std::string>> downloads;
  for (const char* url : {"a", "b", "c"}) downloads.push_back(download(url));
  for (const std::string& page : co_await leat::when_all(std::move(downloads))) {
    std::printf("%s\n", page.c_str());
  }

  std::printf("%s\n", (co_await ask_politely("d")).c_str());

  sessions open_sessions;
  co_await leat::when_all(open_sessions.expire(), use_sessions(open_sessions));

  account a;
  const auto withdrawn = co_await leat::when_all(withdraw(a, 80), withdraw(a, 80));
  const auto& [first, second] = withdrawn;
  std::printf("withdrawn %d %d, %d left\n", first, second, a.balance);

  table t;
  co_await insert(t, "x", 1);
  const auto sums = co_await leat::when_all(sum(t), sum(t));
  const auto& [total, same] = sums;
  std::printf("sums %d %d\n", total, same);

  std::vector<std::string> log;
  co_await load_and_serve(log);
  std::printf("%zu servers\n", log.size());

  leat::watch<settings> config({}, "config");
  co_await leat::when_all(wait_for_capacity(config), raise_limit(config));
  config.close();
  std::printf("limit %d\n", co_await follow(config));

  leat::broadcast<std::string> room(4, "room");
  co_await chat(room);

  leat::fifo_queue<request> requests(4, "requests");
  co_await leat::when_all(answer(requests), call_once(requests));

  page_cache cache;
  co_await show_twice(cache);

  work_arrived.notify();
  co_await wait_for_work();
}

int main() { return leat::run(run_all()); }
