/// Finds a bug that an ordinary test rarely finds, in a small and typical service: workers take the
/// jobs that a file lists, and must do each job exactly once.
///
///     simulation          runs the correct service: no seed fails
///     simulation planted  runs it with a bug: prints the seed, the command to replay it and the
///                         schedule

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include <leat/leat.hpp>
#include <leat/sim.hpp>

namespace {

//! [service]
// The jobs that a worker has taken.
class work_list {
 public:
  explicit work_list(bool planted) : planted_(planted) {}

  // Takes a job unless a worker already has it.
  leat::task<bool> take(int job) {
    if (taken_.contains(job)) co_return false;
    if (planted_) co_await leat::this_task::yield();  // the bug: another worker may take it here
    taken_.insert_or_assign(job, true);
    co_return true;
  }

 private:
  std::map<int, bool> taken_;
  bool planted_;
};

// Reads the jobs from a file and does each one that no other worker has taken.
leat::task<> work(std::string file, work_list& list, std::map<int, int>& done) {
  auto reader = co_await leat::line_reader::open(file);
  leat::line_batch lines;
  while (co_await reader->read_batch(lines)) {
    for (const std::string_view line : lines) {
      const int job = std::stoi(std::string(line));
      const bool mine = co_await list.take(job);
      if (!mine) continue;
      co_await leat::sleep_for(std::chrono::seconds(1));  // the work, in simulated time
      ++done[job];
    }
  }
}
//! [/service]

//! [test]
leat::task<> test(leat::sim::world& w, bool planted) {
  w.files().write_file("/jobs", "1\n2\n3\n");
  work_list list(planted);
  std::map<int, int> done;
  const auto two_workers = [&](leat::task_group& workers) -> leat::task<> {
    workers.spawn(work("/jobs", list, done), "worker 1");
    co_await leat::sleep_for(std::chrono::milliseconds(1));
    workers.spawn(work("/jobs", list, done), "worker 2");
  };
  co_await leat::with_task_group(two_workers);  // joins both, even if a spawn fails
  for (const auto& [job, times] : done) {
    if (times != 1) throw std::logic_error("job " + std::to_string(job) + " was done twice");
  }
}

// `program` is the command that replays a seed, with LEAT_SIM_SEED set.
void find_bugs(bool planted, const std::string& program) {
  const auto result =
      leat::sim::sweep([planted](leat::sim::world& w) { return test(w, planted); },
                       {.count = 1000,
                        .world = {.files = {.faults = {.short_transfer = 0.1, .slow = 0.05}}},
                        .replay = program});
  std::printf("%llu seeds: nothing found\n", static_cast<unsigned long long>(result.seeds));
}
//! [/test]

}  // namespace

int main(int argc, char** argv) {
  const bool planted = argc > 1 && std::string_view(argv[1]) == "planted";
  const std::string program = argv[0];
  try {
    find_bugs(planted, planted ? program + " planted" : program);
    return planted ? 1 : 0;  // the sweep must find a planted bug
  } catch (const leat::sim::seed_failed& e) {
    std::puts(e.what());
    return planted ? 0 : 1;
  } catch (const std::exception& e) {  // such as an invalid LEAT_SIM_SEED
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
