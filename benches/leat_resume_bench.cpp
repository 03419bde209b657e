// Saves and restores a pipeline of TFRecords with a shuffle buffer of 100,000 and batches of 128.
// Before the measurement, the pipeline reads --items records.
//
// resume/save        duration of a save; ms
// resume/state       size of a saved state; KiB
// resume/restore     from restore() to the first batch, with the file in the page cache; ms
// resume/go-on       like resume/restore, in a new process; ms
// resume/checkpoint  CPU time of one checkpoint, from the copy of the state until the state file is
//                    durable; ms. 10 ms are 1 % of a second.
// resume/saving      30 times --items records under a supervisor that saves each second; ns/record.
//                    Fails if there were fewer checkpoints than seconds of work.
// resume/not-saving  like resume/saving, without checkpoints; ns/record

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <leat/leat.hpp>

#include "support/bench.hpp"

namespace {

constexpr std::size_t capacity = 100'000;
constexpr std::size_t batch_size = 128;

auto declared(const std::string& file) {
  return leat::read_files<leat::tfrecord_reader>({.files = {file}, .num_epochs = std::nullopt})
      .shuffle({.capacity = capacity, .seed = 1})
      .batch({.batch_size = batch_size});
}

template <class Pipeline>
leat::task<std::size_t> read(Pipeline& p, std::size_t records) {
  std::size_t seen = 0;
  while (seen < records) {
    const auto batch = co_await p.next();
    if (!batch) break;
    seen += batch->size();
  }
  co_return seen;
}

leat::task<double> save(const bench::request& r) {
  auto p = declared(r.file);
  co_await read(p, static_cast<std::size_t>(r.items));
  constexpr int times = 20;
  std::size_t bytes = 0;
  const bench::stopwatch watch;
  for (int i = 0; i < times; ++i) bytes = p.save().size();
  const double ms = watch.seconds() * 1e3 / times;
  co_await p.stop();
  co_return r.workload == "resume/state" ? static_cast<double>(bytes) / 1024 : ms;
}

// A temporary directory, which the destructor removes.
struct scratch_directory {
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "leat-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("cannot create a temporary directory: " + name);
    path = name;
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

leat::task<double> go_on(const bench::request& r, std::string state) {
  auto p = declared(r.file);
  const bench::stopwatch watch;
  co_await p.restore(std::move(state));
  co_await read(p, 1);
  const double ms = watch.seconds() * 1e3;
  co_await p.stop();
  co_return ms;
}

leat::task<std::string> state_after(const bench::request& r) {
  auto p = declared(r.file);
  co_await read(p, static_cast<std::size_t>(r.items));
  std::string state = p.save();
  co_await p.stop();
  co_return state;
}

leat::task<double> restore(const bench::request& r) {
  std::string state = co_await state_after(r);
  co_return co_await go_on(r, std::move(state));
}

// Runs this program in a new process, which reads the state from a file.
double restore_in_new_process(const bench::request& r) {
  const scratch_directory dir;
  const std::string state = dir.path / "state";
  std::ofstream(state, std::ios::binary) << leat::block_on(state_after(r));
  const std::string command = std::filesystem::read_symlink("/proc/self/exe").string() +
                              " --workload " + state + " --file " + r.file;
  std::FILE* const child = ::popen(command.c_str(), "r");
  double ms = 0;
  const bool said = child != nullptr && std::fscanf(child, "%lf", &ms) == 1;
  if (child == nullptr || ::pclose(child) != 0 || !said) {
    throw std::runtime_error("the new process failed or printed no result: " + command);
  }
  return ms;
}

std::string bytes_of(const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
}

long checkpoints_in(const std::filesystem::path& dir) {
  const std::filesystem::directory_iterator files(dir);
  return std::count_if(begin(files), end(files), [](const auto& f) {
    const std::string name = f.path().filename();
    return name.starts_with("model.ckpt-") && !name.ends_with(".partial");
  });
}

// A supervised pipeline. With `saving`, it writes a checkpoint each second.
struct job {
  job(const bench::request& r, bool saving) : p(declared(r.file)), sv(options(saving)) {}

  leat::supervisor_options options(bool saving) {
    state.add("global_step", step);
    state.add("input", p);
    return {.logdir = dir.path,
            .state = &state,
            .saver = {.max_to_keep = std::nullopt},
            .save_model_interval = std::chrono::seconds(saving ? 1 : 0),
            .save_at_end = false,
            .write_events = false};
  }

  const scratch_directory dir;
  decltype(declared({})) p;
  std::uint64_t step = 0;
  leat::checkpoint_registry state{"bench"};
  leat::supervisor sv;
};

leat::task<double> checkpoint(const bench::request& r) {
  job j(r, false);
  constexpr int times = 20;
  double seconds = 0;
  const auto body = [&]() -> leat::task<void> {
    co_await read(j.p, static_cast<std::size_t>(r.items));
    for (int i = 0; i < times; ++i) {
      co_await read(j.p, 10 * batch_size);
      ++j.step;
      const double before = bench::cpu_seconds();
      co_await j.sv.save();
      seconds += bench::cpu_seconds() - before;
    }
    co_await j.p.stop();
  };
  co_await j.sv.managed(body);
  co_return seconds * 1e3 / times;
}

leat::task<double> throughput(const bench::request& r, bool saving) {
  job j(r, saving);
  double seconds = 0;
  double at_work = 0;  // at most the CPU time: on a busy machine a save can take seconds
  double ns = 0;
  long saved = 0;
  const auto body = [&]() -> leat::task<void> {
    co_await read(j.p, capacity);
    std::size_t seen = 0;
    const long before = checkpoints_in(j.dir.path);
    const double worked = bench::cpu_seconds();
    const bench::stopwatch watch;
    while (seen < 30 * static_cast<std::size_t>(r.items)) {
      seen += co_await read(j.p, batch_size);
      ++j.step;
    }
    seconds = watch.seconds();
    const double cpu = bench::cpu_seconds() - worked;
    at_work = std::min(seconds, cpu);
    ns = (r.cpu ? cpu : seconds) * 1e9 / static_cast<double>(seen);
    ++j.step;
    co_await j.sv.save();  // waits for a save in progress
    saved = checkpoints_in(j.dir.path) - before - 1;
    co_await j.p.stop();
  };
  co_await j.sv.managed(body);
  const long least = saving ? static_cast<long>(at_work - 0.1) : 0;  // the last may be missing
  if (saved < least || (!saving && saved > 0)) {
    throw std::runtime_error(std::to_string(saved) + " checkpoints in " + std::to_string(at_work) +
                             " s of work (" + std::to_string(seconds) + " s elapsed): expected " +
                             (saving ? "at least " : "") + std::to_string(least));
  }
  if (saving) {
    std::fprintf(stderr, "%ld checkpoints in %.1f s of work (%.1f s elapsed)\n", saved, at_work,
                 seconds);
  }
  co_return ns;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload.starts_with('/')) {  // the path of a state: this is the new process
    std::printf("%.6f\n", leat::block_on(go_on(r, bytes_of(r.workload))));
    return 0;
  }
  const char* unit = "ms";
  double value = 0;
  if (r.workload == "resume/save" || r.workload == "resume/state") {
    value = leat::block_on(save(r));
    if (r.workload == "resume/state") unit = "KiB";
  } else if (r.workload == "resume/restore") {
    value = leat::block_on(restore(r));
  } else if (r.workload == "resume/checkpoint") {
    value = leat::block_on(checkpoint(r));
  } else if (r.workload == "resume/go-on") {
    value = restore_in_new_process(r);
  } else if (r.workload == "resume/saving" || r.workload == "resume/not-saving") {
    value = leat::block_on(throughput(r, r.workload == "resume/saving"));
    unit = "ns/record";
  } else {
    bench::unknown(r);
  }
  return bench::report(r, "leat", value, unit);
}
