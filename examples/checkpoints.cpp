/// A job that counts every step exactly once although it is killed several times: it saves its
/// state every fifty steps and continues from the newest checkpoint. The program starts the job in
/// a child process, kills it five times with SIGKILL, and then lets it finish.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <leat/leat.hpp>

namespace {

constexpr std::uint64_t goal = 5000;

//! [job]
// The sum of 1 to `step`, and the last ten numbers added.
struct progress {
  std::uint64_t step = 0;
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> recent;

  void advance() {
    sum += ++step;
    recent.push_back(step);
    if (recent.size() > 10) recent.erase(recent.begin());
  }
};

leat::task<> count(std::string directory, progress& p) {
  auto lock = co_await leat::directory_lock::acquire(directory);  // excludes other writers

  leat::checkpoint_registry what("sum of numbers");
  what.add("step", p.step);
  what.add("sum", p.sum);
  what.add("recent", p.recent);
  leat::saver_options options;
  options.max_to_keep = 3;
  auto saver = co_await leat::saver::open(directory, what, options);

  const auto path = co_await saver.restore_latest();  // restores the newest intact checkpoint
  std::printf("begins at step %4d: %s\n", int(p.step), path ? path->c_str() : "no checkpoint");
  while (p.step < goal) {
    p.advance();
    co_await leat::sleep_for(std::chrono::microseconds(100));  // the work
    if (p.step % 50 == 0) co_await saver.save(p.step);
  }
}
//! [/job]

// Runs the job and returns the exit status of its process.
leat::task<int> run_job(std::string directory) {
  progress p;
  co_await count(directory, p);
  std::printf("ends at step %d with the sum %llu\n", int(p.step), (unsigned long long)p.sum);
  co_return p.sum == goal*(goal + 1) / 2 && p.recent.front() == goal - 9 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: checkpoints DIRECTORY\n", stderr);
    return 2;
  }
  for (int kills = 0;; ++kills) {
    std::fflush(stdout);
    const pid_t job = ::fork();
    if (job < 0) return 1;
    if (job == 0) {
      std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
      std::exit(leat::run(run_job(argv[1])));
    }
    if (kills < 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100 + 50 * kills));
      ::kill(job, SIGKILL);
    }
    int status = 0;
    ::waitpid(job, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
  }
}
