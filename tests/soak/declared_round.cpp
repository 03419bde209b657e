// Declared pipelines run concurrently over the lines and the TFRecords of a round. A stop or an
// injected error ends each before its end. Each resumes from its state with other workers, chunks
// and budgets. Every record still arrives once in each epoch.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leat/async.hpp"
#include "leat/io.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "soak/world.hpp"

namespace soak {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using texts = std::vector<std::string>;

constexpr int most_legs = 300;  // then every leg failed with an injected error

// The settings of a declaration that must not change.
struct declaration {
  declaration(leat::random_engine& random, std::uint64_t all_epochs)
      : epochs(all_epochs),
        seed(random()),
        interleave(static_cast<std::size_t>(1 + random.uniform_below(4))),
        block(static_cast<std::size_t>(1 + random.uniform_below(40))),
        capacity(static_cast<std::size_t>(1 + random.uniform_below(200))),
        batch(static_cast<std::size_t>(1 + random.uniform_below(50))) {}

  std::uint64_t epochs;
  std::uint64_t seed;
  std::size_t interleave;
  std::size_t block;
  std::size_t capacity;
  std::size_t batch;
};

std::string text_from(std::string_view line) { return std::string(line); }
std::string text_from(leat::byte_view record) { return std::string(leat::as_text(record)); }

template <class Reader>
typename Reader::options_type reader_options(world& w) {
  typename Reader::options_type o;
  if constexpr (std::is_same_v<Reader, leat::line_reader>) o.max_line_size = max_line_size;
  o.read.chunk_size = static_cast<std::size_t>(100 + w.random.uniform_below(40'000));
  o.read.depth = static_cast<std::size_t>(1 + w.random.uniform_below(6));
  if (w.rates.io_error > 0) return o;  // otherwise unreadable records would be skipped too
  o.corruption.policy = leat::corruption_policy::skip_file;
  o.corruption.on_report = [&w](const leat::corruption_report&) { ++w.damaged; };
  return o;
}

template <class Reader>
auto declared(world& w, const declaration& d, const std::vector<std::string>& paths) {
  leat::pipeline_options options{.workers = leat::schedulers_of(w.rt)};
  if (w.random.uniform_below(2) == 0) options.memory_budget = std::size_t{64} << 20;
  const auto workers = [&] { return static_cast<std::size_t>(w.random.uniform_below(4)); };
  return leat::read_files<Reader>({.files = paths,
                                   .num_epochs = d.epochs,
                                   .shuffle = true,
                                   .seed = d.seed,
                                   .interleave = d.interleave,
                                   .block_length = d.block,
                                   .reader = reader_options<Reader>(w)},
                                  options)
      .map("text", [](auto record) { return text_from(record); }, {.workers = workers()})
      .shuffle({.capacity = d.capacity, .seed = d.seed + 1})
      .prefetch({.blocks = static_cast<std::size_t>(1 + w.random.uniform_below(3))})
      .batch({.batch_size = d.batch})
      .map("same", [](texts batch) { return batch; }, {.workers = workers()});
}

// The position of a stream.
struct progress {
  std::string state;
  texts seen;  // texts read since the state
  bool ended = false;
};

template <class Pipeline>
task<> read_some(Pipeline& p, progress& so_far, std::uint64_t batches) {
  for (std::uint64_t i = 0; i < batches; ++i) {
    auto batch = co_await p.next();
    so_far.ended = !batch;
    if (!batch) break;
    for (std::string& text : *batch) so_far.seen.push_back(std::move(text));
  }
}

void count_seen(world& w, progress& so_far) {
  for (const std::string& text : so_far.seen) {
    w.require(w.records.put(text) && w.records.got(text), "invalid record received: " + text);
  }
  so_far.seen.clear();
}

// Reads from the state to a later position, or until an error or a stop ends the stream.
template <class Pipeline>
task<> run_leg(world& w, std::unique_ptr<Pipeline> p, progress& so_far, std::uint64_t batches) {
  std::exception_ptr error;
  bool restored = false;
  try {
    if (!so_far.state.empty()) co_await p->restore(so_far.state);
    restored = true;
    co_await read_some(*p, so_far, batches);
  } catch (...) {
    error = std::current_exception();
  }
  co_await p->stop();
  if (restored) so_far.state = p->save();
  count_seen(w, so_far);
  if (error) std::rethrow_exception(error);
}

template <class Reader>
task<> read_in_legs(world& w, const declaration& d, std::vector<std::string> paths) {
  progress so_far;
  for (int leg = 0; !so_far.ended && !w.incomplete; ++leg) {
    auto p = declared<Reader>(w, d, paths);
    leat::task_group group("leg");
    const bool to_stop = w.random.uniform_below(3) == 0;
    const std::uint64_t batches = to_stop ? UINT64_MAX : 1 + w.random.uniform_below(80);
    group.spawn_on(w.any_scheduler(),
                   run_leg(w, std::make_unique<decltype(p)>(std::move(p)), so_far, batches),
                   "reader");
    if (to_stop) {
      co_await leat::sleep_for(10us *
                               w.random.uniform_below(100 * static_cast<std::uint64_t>(leg + 1)));
      group.request_stop();
    }
    try {
      co_await group.join();
    } catch (const leat::failure& e) {
      const bool known = w.broken.explain(e.what()) || (to_stop && e.code() == errc::cancelled);
      w.require(known, std::string("a pipeline ended with: ") + e.what());
      if (!known || leg > most_legs) w.incomplete = true;
    }
  }
}

}  // namespace

task<> run_declared(world& w, std::uint64_t epochs) {
  std::vector<std::string> lines;
  std::vector<std::string> records;
  for (input_file& f : w.files) {
    if (w.rates.io_error > 0 && f.good < f.count) mend(f, w.random);
    (f.what == input_file::kind::lines ? lines : records).push_back(f.path);
  }
  leat::task_group group("declared");
  const declaration of_lines(w.random, epochs);
  const declaration of_records(w.random, epochs);
  if (!lines.empty()) group.spawn(read_in_legs<leat::line_reader>(w, of_lines, lines), "lines");
  if (!records.empty()) {
    group.spawn(read_in_legs<leat::tfrecord_reader>(w, of_records, records), "records");
  }
  co_await group.join();
}

}  // namespace soak
