// A supervised job on each of two hosts, of which one is killed, or loses its power, at any time.

#include <csignal>

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/sim.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/leat_test.hpp"

namespace supervised_hosts_test {

using leat::sim::host;
using leat::sim::world;
using namespace std::chrono_literals;

constexpr int line_count = 30;

// What a job has learnt at the end, by host.
using results = std::map<std::string, std::string>;

// Learns each line once, and saves its state sometimes.
task<> learn(host& here, results& learnt) {
  auto input = leat::read_files<leat::line_reader>({.files = {"/in/*"}, .shuffle = true, .seed = 7},
                                                   {.workers = {&here.thread(here.threads() - 1)}})
                   .map("text", [](std::string_view line) { return std::string(line); })
                   .shuffle({.capacity = 5, .seed = 8})
                   .prefetch(2);
  std::string all;
  std::int64_t step = 0;
  leat::checkpoint_registry state("job");
  state.add("global_step", step);
  state.add("learnt", all);
  state.add("input", input);
  leat::supervisor_options o;
  o.logdir = "/run";
  o.state = &state;
  o.save_model_interval = 20ms;
  o.stages = input.stages();
  o.on_warning = nullptr;
  leat::supervisor sv(std::move(o));
  co_await sv.managed([&]() -> task<> {
    co_await input.for_each([&](const std::string& line) -> task<> {
      all += line + '\n';
      ++step;
      co_await leat::sleep_for(5ms);
    });
  });
  learnt[here.name()] = all;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

task<> run_jobs(world& w, int& kills) {
  results learnt;
  std::string input;
  for (int i = 0; i < line_count; ++i) input += "line " + std::to_string(i) + '\n';
  std::vector<host*> hosts{&w.add_host("a", {.threads = 2}), &w.add_host("b")};
  for (host* const h : hosts) {
    h->files().write_file("/in/lines", input);
    h->start([&](host& here) { return learn(here, learnt); });
  }
  host& victim = *hosts[w.decisions().choose(2, "which host")];
  for (int i = 0; i < 3; ++i) {
    co_await leat::sleep_for(std::chrono::milliseconds(w.random().uniform_below(150)));
    if (!victim.is_running()) break;
    switch (w.decisions().choose(3, "how it ends")) {
      case 0: victim.terminate(); break;
      case 1: victim.stop_power(); break;
      default: victim.raise(SIGTERM); break;
    }
    ++kills;
    co_await victim.join();
    victim.start([&](host& here) { return learn(here, learnt); });
  }
  for (host* const h : hosts) {
    if (co_await h->join() != 0) throw std::logic_error("the job of " + h->name() + " fails");
    if (sorted_lines(learnt[h->name()]) != sorted_lines(input)) {
      throw std::logic_error("the job of " + h->name() + " has not learnt each line once");
    }
  }
}

TEST_CASE("supervisor: a job is killed on one of two hosts, and resumes where it was") {
  int kills = 0;
  leat::sim::sweep([&](world& w) { return run_jobs(w, kills); }, {.count = 200});
  CHECK(kills > 200);
}

}  // namespace supervised_hosts_test
