// Programs whose process exits while tasks use files or block, one for each name. process_exit.py
// runs them and states the expected result of each.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

namespace {

leat::task<> read_repeatedly(const char* path) {
  for (;;) {
    leat::file f = co_await leat::file::open(path);
    std::array<std::byte, 4096> bytes{};
    co_await f.read_at(0, bytes);
    co_await leat::list_directory("/etc");
    co_await f.close();
  }
}

// std::exit() while tasks on other threads read files.
void exit_while_reading(const char* path) {
  leat::runtime threads({.threads = 2});
  leat::task_group group("readers");
  for (std::size_t i = 0; i < 8; ++i) {
    group.spawn_on(threads.get_scheduler(i % 2), read_repeatedly(path));
  }
  std::this_thread::sleep_for(5ms);
  std::exit(7);
}

leat::task<> list_often() {
  constexpr int last = 500;
  for (int i = 0; i <= last; ++i) {
    const auto names = co_await leat::list_directory("/etc");
    if (i == last) std::puts("last listing");
  }
}

// Constructed before the static objects of the library, and therefore destroyed after them.
std::unique_ptr<leat::runtime> static_runtime;

// Its destructor waits for tasks that still read files.
void destroy_static_runtime() {
  static_runtime = std::make_unique<leat::runtime>(leat::runtime_options{.threads = 1});
  auto* const group = new leat::task_group("listing");  // never destroyed: its tasks outlive main()
  group->spawn_on(static_runtime->get_scheduler(), list_often());
  std::this_thread::sleep_for(5ms);
  std::puts("main returns");
}

// Uses each static object of the library while static objects are destroyed.
struct late_user {
  bool active = false;
  ~late_user() {
    if (!active) return;
    std::printf("%s: %s\n", leat::error_category().name(),
                leat::make_error_code(leat::errc::cancelled).message().c_str());
    std::printf("%s\n", leat::file_backend_reason().c_str());
    leat::histogram values;
    values.add(1.0);
    std::printf("%zu limits\n", leat::histogram::default_limits().size());
    leat::block_on([]() -> leat::task<> { co_await leat::list_directory("/etc"); }());
    std::puts("listed");
  }
} user;

void use_library_at_exit() {
  user.active = true;
  static_cast<void>(leat::histogram::default_limits());
  static_cast<void>(leat::error_category());
  leat::block_on([]() -> leat::task<> { co_await leat::list_directory("/etc"); }());
}

// std::exit() in a function of run_blocking(), while another one waits for its thread.
void exit_in_blocking_function() {
  leat::block_on([]() -> leat::task<> {
    static leat::blocking_pool pool({.threads = 1});
    const auto leave = [] {
      std::this_thread::sleep_for(1ms);
      std::exit(5);
    };
    const auto never = [] { std::puts("called at exit"); };
    leat::task_group group;
    group.spawn([](auto f) -> leat::task<> { co_await leat::run_blocking(pool, f); }(leave));
    group.spawn([](auto f) -> leat::task<> { co_await leat::run_blocking(pool, f); }(never));
    co_await group.join();
  }());
}

// std::exit() in a task, while functions of run_blocking() run that never return.
void exit_during_blocking_function() {
  leat::block_on([]() -> leat::task<> {
    static leat::blocking_pool pool({.threads = 1});
    static std::atomic<int> running{0};
    const auto block = [] {
      ++running;
      for (;;) std::this_thread::sleep_for(1h);
    };
    leat::task_group group;
    group.spawn([](auto f) -> leat::task<> { co_await leat::run_blocking(pool, f); }(block));
    group.spawn([](auto f) -> leat::task<> { co_await leat::run_blocking(f); }(block));
    while (running < 2) co_await leat::sleep_for(100us);
    std::exit(6);
  }());
}

}  // namespace

int main(int count, char** words) {
  const std::string_view name = count > 1 ? words[1] : "";
  if (name == "exit_while_reading") exit_while_reading(words[0]);
  if (name == "destroy_static_runtime") return destroy_static_runtime(), 0;
  if (name == "use_library_at_exit") return use_library_at_exit(), 0;
  if (name == "exit_in_blocking_function") return exit_in_blocking_function(), 0;
  if (name == "exit_during_blocking_function") return exit_during_blocking_function(), 0;
  return 2;
}
