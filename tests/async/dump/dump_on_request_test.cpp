#include "leat/async/dump/dump_on_request.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "leat/base/internal/sanitizers.hpp"
#include "support/child_process.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace dump_on_request_test {

using leat::dump_on_request;

class pipe_ends {
 public:
  pipe_ends() { REQUIRE(::pipe2(ends_, O_CLOEXEC) == 0); }
  ~pipe_ends() {
    ::close(ends_[0]);
    close_writing();
  }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  // Returns all text that was written until the end of the pipe.
  std::string read_all() {
    close_writing();
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void wait_for(const dump_on_request& d, std::uint64_t dumps) {
  while (d.written() < dumps) std::this_thread::yield();
}

task<void> compute(std::atomic<bool>& computing, const std::atomic<bool>& go) {
  computing = true;
  while (!go) std::this_thread::yield();
  co_return;
}

TEST_CASE("dump_on_request: a signal prints all tasks, including deadlocked ones") {
  leat::runtime rt({.threads = 2});
  std::atomic<bool> computing{false}, go{false};
  task_group group("work");
  group.spawn_on(rt.get_scheduler(0), compute(computing, go), "stuck");
  group.spawn_on(
      rt.get_scheduler(1), []() -> task<void> { co_await leat::sleep_for(1h); }(), "sleeper");
  while (!computing) std::this_thread::yield();
  pipe_ends pipe;
  {
    const dump_on_request d({.signal = SIGUSR1, .descriptor = pipe.writing(), .patience = 100ms});
    ::raise(SIGUSR1);
    wait_for(d, 1);
  }
  go = true;
  group.request_stop();
  leat::block_on(group.join());
  const std::string text = pipe.read_all();
  INFO(text);
  CHECK(text.starts_with("leat dump 1 of process " + std::to_string(::getpid()) + "\n"));
  CHECK(contains(text, "task group 'work', 2 tasks\n"));
  CHECK(contains(text, "  stuck: not known: its scheduler does not answer\n"));
  CHECK(contains(text, "  sleeper: sleep for another "));
}

TEST_CASE("dump_on_request: dumps while every scheduler is blocked, also in JSON") {
  leat::runtime rt({.threads = 1});
  std::atomic<bool> computing{false}, go{false};
  task_group group;
  group.spawn_on(rt.get_scheduler(0), compute(computing, go), "stuck");
  while (!computing) std::this_thread::yield();
  pipe_ends pipe;
  {
    dump_on_request d(
        {.descriptor = pipe.writing(), .format = leat::dump_format::json, .patience = 1ms});
    d.request();
  }  // the destructor writes the dump that was requested
  go = true;
  leat::block_on(group.join());
  const std::string text = pipe.read_all();
  INFO(text);
  CHECK(count(text, "\n") == 1);
  CHECK(text.find(R"("state":"unknown")") != text.npos);
  CHECK(text.find(R"("schedulers_not_answering":[{)") != text.npos);
}

// A scheduler that does not answer keeps a dump from ending until the test lets it.
TEST_CASE("dump_on_request: requests during a dump share the next dump, and none is lost") {
  leat::runtime rt({.threads = 1});
  std::atomic<bool> computing{false}, go{false};
  task_group group;
  group.spawn_on(rt.get_scheduler(0), compute(computing, go));
  while (!computing) std::this_thread::yield();
  pipe_ends pipe;
  dump_on_request d({.descriptor = pipe.writing(), .patience = 1h});
  d.request();
  const std::uint64_t before = d.written();
  for (int i = 0; i < 1000; ++i) d.request();
  CHECK(d.written() == before);  // the dump still waits for the scheduler
  go = true;
  leat::block_on(group.join());
  wait_for(d, 1);
  // The first dump may have begun before or after the other requests.
  d.request();
  while (d.written() == 1) std::this_thread::yield();
  CHECK(d.written() <= 3);
}

TEST_CASE("dump_on_request: accepts requests by signal and by call from many threads") {
  pipe_ends pipe;
  std::uint64_t dumps = 0;
  {
    dump_on_request d({.signal = SIGUSR2, .descriptor = pipe.writing()});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          ::raise(SIGUSR2);
          d.request();
        }
      });
    }
    for (std::thread& t : threads) t.join();
    const std::uint64_t asked = d.written();
    d.request();
    wait_for(d, asked + 1);
    dumps = d.written();
  }
  CHECK(dumps >= 1);
  CHECK(dumps <= 801);
  CHECK(count(pipe.read_all(), "leat dump ") >= dumps);
}

TEST_CASE("dump_on_request: objects can be created and destroyed while signals arrive") {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGUSR1, &ignore, &before) == 0);
  std::atomic<bool> ended{false};
  std::thread rain([&] {
    while (!ended) ::raise(SIGUSR1);
  });
  temp_dir dir;
  for (int i = 0; i < 50; ++i) {
    const dump_on_request d({.signal = SIGUSR1, .file = dir / "dumps"});
    wait_for(d, 1);
  }
  ended = true;
  rain.join();
  struct sigaction now{};
  REQUIRE(::sigaction(SIGUSR1, &before, &now) == 0);
  CHECK(now.sa_handler == SIG_IGN);
}

void other_handler(int) noexcept {}

TEST_CASE("dump_on_request: restores the previous handler unless a newer one is installed") {
  struct sigaction action{};
  struct sigaction before{};
  struct sigaction now{};
  action.sa_handler = &other_handler;
  ::sigaction(SIGUSR1, &action, &before);
  {
    const dump_on_request d({.signal = SIGUSR1});
  }
  ::sigaction(SIGUSR1, nullptr, &now);
  CHECK(now.sa_handler == &other_handler);
  {
    const dump_on_request d({.signal = SIGUSR1});
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR1, &action, nullptr);
  }
  ::sigaction(SIGUSR1, &before, &now);
  CHECK(now.sa_handler == SIG_IGN);
}

TEST_CASE("dump_on_request: appends to a file and creates it again after it was moved") {
  temp_dir dir;
  const std::string file = dir / "dumps";
  {
    dump_on_request d({.file = file});
    d.request();
    wait_for(d, 1);
    REQUIRE(::rename(file.c_str(), (file + ".old").c_str()) == 0);
    d.request();
    wait_for(d, 2);
    d.request();
    wait_for(d, 3);
  }
  CHECK(count(temp_dir::read(file + ".old"), "leat dump 1 of ") == 1);
  CHECK(count(temp_dir::read(file), "leat dump ") == 2);
}

TEST_CASE("dump_on_request: request() preserves errno") {
  pipe_ends pipe;
  dump_on_request d({.descriptor = pipe.writing()});
  errno = ERANGE;
  d.request();
  CHECK(errno == ERANGE);
}

TEST_CASE("dump_on_request: a pipe without a reader does not end the program") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[0]);
  dump_on_request d({.descriptor = ends[1]});
  d.request();
  wait_for(d, 1);  // without SIGPIPE
  d.request();
  wait_for(d, 2);
  ::close(ends[1]);
}

TEST_CASE("dump_on_request: stops writing to a full pipe after the time limit") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const std::string page(4096, 'x');
  while (::write(ends[1], page.data(), page.size()) > 0) {
  }
  dump_on_request d({.descriptor = ends[1], .patience = 1ms});
  d.request();
  wait_for(d, 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("dump_on_request: rejects an unusable file or signal") {
  std::string said;
  const auto code_of = [&said](leat::dump_on_request_options options) {
    try {
      const dump_on_request d(std::move(options));
    } catch (const leat::failure& e) {
      said = e.what();
      return std::error_code(e.code());
    }
    return std::error_code();
  };
  CHECK(code_of({.file = "/nowhere/at/all"}) == std::errc::no_such_file_or_directory);
  CHECK_THAT(said, Catch::StartsWith("dump_on_request: cannot open '/nowhere/at/all'"));
  CHECK(code_of({.signal = SIGKILL}) == std::errc::invalid_argument);
  CHECK_THAT(said, Catch::StartsWith("dump_on_request: cannot handle signal 9"));
  CHECK(code_of({.signal = 4711}) == errc::invalid_argument);
  CHECK_THAT(said, Catch::StartsWith("dump_on_request: signal 4711 does not exist"));
  const dump_on_request d({.signal = SIGUSR1});
  CHECK(code_of({.signal = SIGUSR1}) == errc::already_exists);
  CHECK_THAT(said, Catch::Contains("is in use by another dump_on_request"));
  CHECK_FALSE(code_of({.signal = SIGUSR2}));
}

TEST_CASE("dump_on_request: the error for a thread that cannot be started names it and a remedy") {
  if (LEAT_TSAN) return;  // it ends a child process that starts a thread
  const std::string said = leat_test::run_in_child([]() -> std::string {
    pthread_attr_t too_large;  // a stack that is larger than every address space
    ::pthread_attr_init(&too_large);
    ::pthread_attr_setstacksize(&too_large, std::size_t{1} << 47);
    ::pthread_setattr_default_np(&too_large);
    try {
      const dump_on_request d({.signal = SIGUSR1});
      return "started";
    } catch (const leat::failure& e) {
      if (e.code() != std::errc::resource_unavailable_try_again) return "another code";
      struct sigaction now{};
      ::sigaction(SIGUSR1, nullptr, &now);
      return now.sa_handler == SIG_DFL ? e.what() : "a handler is left";
    }
  });
  CHECK_THAT(said, Catch::StartsWith("dump_on_request: its thread cannot be started: raise"));
}

}  // namespace dump_on_request_test
