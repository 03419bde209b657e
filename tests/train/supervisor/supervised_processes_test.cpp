// A chief and workers in separate processes.

#include <cstdlib>
#include <exception>
#include <functional>

#include <sys/wait.h>

#include "leat/train/supervisor/supervisor.hpp"
#include "support/temp_dir.hpp"
#include "train/supervised.hpp"

namespace supervised_processes_test {

using leat::supervisor;
using leat_test::learner;

// A pipe that carries lines from one process to another. The receiver closes its writing end, so
// that hear() returns an empty line after the other process has ended.
class telephone {
 public:
  telephone() { REQUIRE(::pipe(ends_) == 0); }
  telephone(const telephone&) = delete;
  telephone& operator=(const telephone&) = delete;
  ~telephone() {
    for (int& end : ends_) close(end);
  }

  void only_hears() { close(ends_[1]); }  // after the fork

  void say(const std::string& words) const {
    const std::string line = words + "\n";
    static_cast<void>(!::write(ends_[1], line.data(), line.size()));
  }
  [[nodiscard]] std::string hear() const {
    std::string line;
    for (char c = 0; ::read(ends_[0], &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }

  int ends_[2] = {-1, -1};
};

// A process that runs a function until it returns or is killed. After an hour, a test has hung.
class process {
 public:
  template <class Function>
  explicit process(Function f) : id_(::fork()) {
    if (id_ != 0) return;
    ::alarm(3600);
    for (const int s : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(s, SIG_DFL);  // not Catch's
    try {
      f();
    } catch (...) {  // also exceptions of Catch: the child must not run further tests
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() { kill(); }

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  bool join() {
    int status = 0;
    ::waitpid(std::exchange(id_, 0), &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  void kill() {
    if (id_ == 0) return;
    ::kill(id_, SIGKILL);
    join();
  }

 private:
  pid_t id_;
};

leat::supervisor_options in_files(learner& l, const std::string& directory) {
  leat::supervisor_options o = l.options(directory);
  o.write_events = false;
  return o;
}

// Runs a supervisor with a body that only calls a function. Returns the message of its exception.
std::string run(leat::supervisor_options o, std::function<void()> body, leat::duration max_wait) {
  return leat::block_on([](leat::supervisor_options options, std::function<void()> call,
                           leat::duration wait) -> task<std::string> {
    supervisor sv(std::move(options));
    const std::function<task<>()> calling = [&]() -> task<> {
      call();
      co_return;
    };
    leat::prepare_options p;
    p.max_wait = wait;
    co_return co_await message_of(sv.managed(calling, p));
  }(std::move(o), std::move(body), max_wait));
}

// Reports each look for the chief's checkpoint, and at the end the restored value or the error.
void work(const std::string& directory, leat::duration max_wait, const telephone& to) {
  learner l;
  leat::supervisor_options o = in_files(l, directory);
  o.is_chief = false;
  o.sessions.recovery_wait = 5ms;
  o.sessions.open = [&]() -> task<leat::session> {
    to.say("looks");
    co_return leat::session();
  };
  const std::string why =
      run(std::move(o), [&] { to.say("has " + std::to_string(l.weight)); }, max_wait);
  if (!why.empty()) to.say(why);
}

TEST_CASE("telephone: receives nothing from a dead process", "[train]") {
  telephone from;
  process other([&] {
    from.say("hello");
    throw 1;  // not a std::exception
  });
  from.only_hears();
  CHECK(from.hear() == "hello");
  CHECK(from.hear().empty());
  CHECK(!other.join());
}

TEST_CASE("supervisor: a worker waits for a chief in another process, then continues", "[train]") {
  const temp_dir dir;
  const std::string run_dir = dir / "run";
  telephone worker;
  process other([&] { work(run_dir, 1h, worker); });
  worker.only_hears();
  for (int i = 0; i < 3; ++i) CHECK(worker.hear() == "looks");  // again and again
  learner chief;
  chief.weight = 42;
  CHECK(run(in_files(chief, run_dir), [] {}, 1h).empty());
  std::string said;
  do {
    said = worker.hear();
  } while (said == "looks");
  CHECK(contains(said, "has 42"));
  CHECK(other.join());
}

TEST_CASE("supervisor: a worker without a chief reports the missing checkpoint", "[train]") {
  const temp_dir dir;
  telephone worker;
  process other([&] { work(dir / "run", 20ms, worker); });
  worker.only_hears();
  std::string said;
  do {
    said = worker.hear();
  } while (said == "looks");
  CHECK(contains(said, "would exceed the limit of 0.02 secs"));
  CHECK(
      contains(said, "no checkpoint in '" + (dir / "run") + "': check that the chief is running"));
  CHECK(other.join());
}

TEST_CASE("supervisor: rejects the second of two chiefs in two processes", "[train]") {
  const temp_dir dir;
  telephone from_first;
  telephone to_first;
  process first([&] {
    to_first.only_hears();
    learner l;
    l.step = 7;
    const std::string why = run(
        in_files(l, dir.path()),
        [&] {
          from_first.say("has it");
          static_cast<void>(to_first.hear());
        },
        1h);
    from_first.say(why.empty() ? "ended" : why);
  });
  from_first.only_hears();
  REQUIRE(from_first.hear() == "has it");
  learner l;
  bool ran = false;
  const std::string refused = run(in_files(l, dir.path()), [&] { ran = true; }, 1h);
  CHECK(contains(refused,
                 dir.path() + ": directory is locked by process " + std::to_string(first.id())));
  CHECK(!ran);
  const auto run_here = [&] {
    CHECK(run(in_files(l, dir.path()), [&] { ran = true; }, 1h).empty());
    CHECK(ran);
  };
  SECTION("it continues where the first chief ended") {
    to_first.say("end");
    CHECK(from_first.hear() == "ended");
    CHECK(first.join());
    run_here();
    CHECK(l.step == 7);
  }
  SECTION("it starts after the first chief was killed") {
    first.kill();
    run_here();
  }
}

}  // namespace supervised_processes_test
