// A declared pipeline is stopped at any time, any number of times, and resumes from its state with
// other settings. The stream equals that of a pipeline that was never stopped.

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "simulation/steps.hpp"

namespace simulation {
namespace {

using leat::task;
using leat::sim::world;
using texts = std::vector<std::string>;

// The settings of a declared pipeline that determine its stream.
struct declaration {
  explicit declaration(leat::random_engine& random)
      : epochs(1 + random.uniform_below(2)),
        seed(random()),
        interleave(static_cast<std::size_t>(1 + random.uniform_below(4))),
        block(static_cast<std::size_t>(1 + random.uniform_below(4))),
        capacity(static_cast<std::size_t>(1 + random.uniform_below(30))),
        batch(static_cast<std::size_t>(1 + random.uniform_below(4))) {}

  std::uint64_t epochs;
  std::uint64_t seed;
  std::size_t interleave;
  std::size_t block;
  std::size_t capacity;
  std::size_t batch;
};

// Declares a pipeline with random numbers of workers, readers, chunks and prefetches.
auto declared(const declaration& d, world& w) {
  leat::random_engine random(w.random()());
  std::vector<leat::scheduler*> threads;
  for (std::size_t i = 0; i < w.threads(); ++i) threads.push_back(&w.thread(i));
  const auto workers = [&] { return static_cast<std::size_t>(random.uniform_below(4)); };
  const std::size_t readers = random.uniform_below(2) * (d.interleave + workers());
  return leat::read_files<leat::line_reader>(
             {.files = {"/in/*"},
              .num_epochs = d.epochs,
              .shuffle = true,
              .seed = d.seed,
              .interleave = d.interleave,
              .block_length = d.block,
              .readers = readers,
              .reader = {.read = {.chunk_size =
                                      static_cast<std::size_t>(16 + random.uniform_below(100))}}},
             {.workers = threads})
      .flat_map("words",
                [](std::string_view line) {
                  const std::string word(line);
                  return line.size() % 3 == 0 ? texts() : texts(line.size() % 3, word);
                },
                {.workers = workers()})
      .shuffle({.capacity = d.capacity, .seed = d.seed + 1})
      .prefetch(static_cast<std::size_t>(1 + random.uniform_below(3)))
      .batch({.batch_size = d.batch})
      .map("join",
           [](const texts& batch) {
             std::string all;
             for (const std::string& text : batch) all += text + ',';
             return all;
           },
           {.workers = workers()});
}

// Resumes from a state and reads until it is stopped. Saves the new state.
template <class Pipeline>
task<> read_on(std::unique_ptr<Pipeline> p, std::string& state, std::size_t& saved, texts& seen,
               bool& ended) {
  if (!state.empty()) co_await p->restore(state);
  std::exception_ptr error;
  try {
    while (auto batch = co_await p->next()) seen.push_back(std::move(*batch));
    ended = true;
  } catch (...) {
    error = std::current_exception();
  }
  co_await p->stop();
  state = p->save();
  saved = seen.size();
  if (error) std::rethrow_exception(error);
}

task<texts> read_all(const declaration& d, world& w) {
  auto p = declared(d, w);
  texts all;
  while (auto batch = co_await p.next()) all.push_back(std::move(*batch));
  co_return all;
}

}  // namespace

task<> resuming(world& w) {
  for (std::uint64_t f = 0, files = 1 + below(w, 5); f < files; ++f) {
    std::string text;
    for (std::uint64_t i = 0, lines = below(w, 25); i < lines; ++i) {
      text += std::to_string(f) + '-' + std::to_string(i) + "\n";
    }
    w.files().write_file("/in/" + std::to_string(f), text);
  }
  const declaration d(w.random());
  const texts expected = co_await read_all(d, w);

  texts seen;
  std::string state;
  std::size_t saved = 0;
  bool ended = false;
  w.watermark("the state", [&] { return saved; }, [&] { return seen.size(); });
  for (std::uint64_t patience = 1; !ended; patience *= 2) {
    leat::task_group group("reading");
    auto p = declared(d, w);
    group.spawn(read_on(std::make_unique<decltype(p)>(std::move(p)), state, saved, seen, ended));
    co_await leat::sleep_for(std::chrono::microseconds(below(w, 500 * patience)));
    group.request_stop();
    try {
      co_await group.join();
    } catch (const std::system_error& e) {
      require(e.code() == leat::errc::cancelled, "pipeline ended with its own error");
    }
  }
  w.clear_invariants();
  require(seen == expected, "elements after a stop and resume differ");
}

}  // namespace simulation
