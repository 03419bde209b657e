/// Reads training data in the style of TensorFlow 1.x, with queues and a coordinator, and then does
/// the same job in the style of leat, with a pipeline under a supervisor or a monitored session.
/// docs/migrating.md explains each version. Argument: the folder for the files and checkpoints.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>

namespace {

using leat::dtype;
using leat::fixed_len_feature;

leat::task<> write_points(std::string path, std::uint64_t seed) {
  leat::random_engine random(seed);
  auto writer = co_await leat::tfrecord_writer::open(std::move(path));
  for (int i = 0; i < 500; ++i) {
    const auto x = static_cast<float>(random.uniform_below(1000)) / 1000;
    const auto y = static_cast<float>(random.uniform_below(1000)) / 1000;
    const std::int64_t label = x + y > 1 ? 1 : -1;
    const std::string record =
        leat::example_builder().add("point", {x, y}).add("label", {label}).serialize();
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();
}

// A perceptron. Checkpoints contain its weights.
struct model {
  std::vector<float> weights = {0, 0, 0};
  std::size_t seen = 0;
  std::size_t mistakes = 0;

  void learn(const leat::tensor_tuple& batch) {
    const auto points = batch["point"].values<float>();  // [batch, 2]
    const auto labels = batch["label"].values<std::int64_t>();
    learn(points.data(), labels.data(), labels.size());
  }
  void learn(const leat::column_batch& batch) {
    const auto points = batch["point"].values<float>();
    const auto labels = batch["label"].values<std::int64_t>();
    learn(points.data(), labels.data(), labels.size());
  }

 private:
  void learn(const float* points, const std::int64_t* labels, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto label = static_cast<float>(labels[i]);
      const float x = points[2 * i];
      const float y = points[2 * i + 1];
      ++seen;
      if ((weights[0] * x + weights[1] * y + weights[2]) * label > 0) continue;
      ++mistakes;
      weights[0] += label * x;
      weights[1] += label * y;
      weights[2] += label;
    }
  }
};

//! [decode]
const leat::example_parser parser({{"point",
                                    fixed_len_feature{.type = dtype::float32, .shape = {2}}},
                                   {"label", fixed_len_feature{.type = dtype::int64}}});

// Reads the records of the files whose names it pops from a queue, and parses each record.
struct point_source {
  std::unique_ptr<leat::filename_queue_reader<leat::tfrecord_reader>> reader;

  leat::task<std::optional<leat::tensor_tuple>> operator()() {
    const auto record = co_await reader->read();
    if (!record) co_return std::nullopt;  // the queue of names is closed and empty
    co_return parser.parse_one(leat::as_bytes(record->value), record->key).take();
  }
};
//! [/decode]

leat::task<> train_with_queues(std::vector<std::string> files, model& m) {
  //! [names]
  leat::string_input_producer names(files, {.num_epochs = 4, .shuffle = true, .seed = 1});
  //! [/names]
  //! [batch]
  const leat::batch_spec spec({{.type = dtype::float32, .shape = {2}, .name = "point"},
                               {.type = dtype::int64, .shape = {}, .name = "label"}});
  leat::tensor_shuffle_batcher batches(
      spec, {.batch_size = 32, .capacity = 1000, .min_after_dequeue = 500, .seed = 2});
  for (int i = 0; i < 2; ++i) {  // two readers, as in shuffle_batch_join
    batches.add(point_source{
        std::make_unique<leat::filename_queue_reader<leat::tfrecord_reader>>(names.queue())});
  }
  //! [/batch]
  //! [coordinator]
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    names.start(coord);
    batches.start(coord);
    while (const auto batch = co_await batches.next()) m.learn(*batch);
  });  // all runners have finished; throws the first error
  //! [/coordinator]
}

//! [pipeline]
auto declare_batches(std::vector<std::string> files) {
  return leat::read_files<leat::tfrecord_reader>({.files = std::move(files),
                                                  .num_epochs = 4,
                                                  .shuffle = true,
                                                  .seed = 1,
                                                  .interleave = 2})
      .shuffle({.capacity = 1000, .seed = 2})
      .batch({.batch_size = 32})
      .map("parse",
           [](const leat::owned_record_batch& records) {
             return parser.parse(records.views()).take();
           })
      .prefetch(2);
}
//! [/pipeline]

leat::task<> train_supervised(std::vector<std::string> files, std::string logdir, model& m) {
  //! [supervisor]
  auto batches = declare_batches(std::move(files));
  std::int64_t step = 0;
  leat::checkpoint_registry state("points");
  state.add("global_step", step);
  state.add("weights", m.weights);
  state.add("input", batches);

  leat::supervisor_options options;
  options.logdir = std::move(logdir);
  options.state = &state;
  options.save_model_interval = std::chrono::minutes(10);
  leat::supervisor sv(options);
  const auto body = [&]() -> leat::task<> {
    co_await batches.for_each([&](leat::tensor_tuple batch) {
      m.learn(batch);
      ++step;
    });
  };
  co_await sv.managed(body);
  //! [/supervisor]
}

//! [session]
leat::task<> train_with_hooks(std::vector<std::string> files, std::string logdir, model& m) {
  auto batches = declare_batches(std::move(files));
  std::int64_t step = 0;
  leat::checkpoint_registry state("points");
  state.add("global_step", step);
  state.add("weights", m.weights);

  leat::monitored_session_options options;
  options.supervised.logdir = std::move(logdir);
  options.supervised.state = &state;
  options.save_checkpoint_steps = 100;
  options.hooks.push_back(
      std::make_shared<leat::stop_at_step_hook>(leat::stop_at_step_hook_options{.last_step = 50}));
  leat::monitored_session session(options);

  const auto train_step = [&](leat::run_context& run) -> leat::task<> {
    const auto batch = co_await batches.next();
    if (!batch) throw leat::failure(leat::errc::out_of_range, "no more batches");
    m.learn(*batch);
    run.results().add("mistakes", static_cast<double>(m.mistakes));
    ++step;
  };
  const auto body = [&]() -> leat::task<> {
    while (!session.should_stop()) co_await session.run(train_step);
  };
  co_await session.managed(body);
  co_await batches.stop();  // the hook ended the training before the last batch
}
//! [/session]

bool report(const char* name, const model& m, std::size_t wanted) {
  std::printf("%s: %zu points, %zu mistakes\n", name, m.seen, m.mistakes);
  return m.seen == wanted && m.mistakes < m.seen / 10;
}

leat::task<int> run(std::string folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::vector<std::string> files;
  for (std::uint64_t i = 0; i < 2; ++i) {
    files.push_back(folder + "/points-" + std::to_string(i) + ".tfrecord");
    co_await write_points(files.back(), i);
  }
  model queues;
  co_await train_with_queues(files, queues);
  model supervised;
  co_await train_supervised(files, folder + "/supervised", supervised);
  model hooks;
  co_await train_with_hooks(files, folder + "/hooks", hooks);
  const bool queues_good = report("queues", queues, 4000);
  const bool supervised_good = report("supervisor", supervised, 4000);
  const bool hooks_good = report("session", hooks, 50 * 32);
  co_return queues_good&& supervised_good&& hooks_good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: migration FOLDER\n", stderr);
    return 2;
  }
  return leat::run(run(argv[1]));
}
