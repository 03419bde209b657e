// Trains on shuffled batches of tf.train.Examples: a pipeline from files to columns.
//
// The Examples are points, and each label states on which side of a line its point is. A perceptron
// learns the line. Argument: the folder in which to create the files (default: points).

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace {

using leat::dtype;
using leat::fixed_len_feature;

leat::task<> write_points(std::string path, std::uint64_t seed) {
  leat::random_engine random(seed);
  auto writer = co_await leat::tfrecord_writer::open(std::move(path));
  for (int i = 0; i < 1000; ++i) {
    const auto x = static_cast<float>(random.uniform_below(1000)) / 1000;
    const auto y = static_cast<float>(random.uniform_below(1000)) / 1000;
    const std::int64_t label = x + y > 1 ? 1 : -1;
    const std::string record =
        leat::example_builder().add("point", {x, y}).add("label", {label}).serialize();
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();
}

struct perceptron {
  float x = 0, y = 0, bias = 0;
  std::size_t mistakes = 0;

  void learn(const leat::tensor_tuple& batch) {
    const auto points = batch["point"].values<float>();  // [batch, 2]
    const auto labels = batch["label"].values<std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto label = static_cast<float>(labels[i]);
      if ((x * points[2 * i] + y * points[2 * i + 1] + bias) * label > 0) continue;
      ++mistakes;
      x += label * points[2 * i];
      y += label * points[2 * i + 1];
      bias += label;
    }
  }
};

//! [pipeline]
leat::task<perceptron> train(std::string folder) {
  const leat::example_parser parser(
      {{"point", fixed_len_feature{.type = dtype::float32, .shape = {2}}},
       {"label", fixed_len_feature{.type = dtype::int64}}});
  auto batches = leat::read_files<leat::tfrecord_reader>({.files = {folder + "/*.tfrecord"},
                                                          .num_epochs = 20,
                                                          .shuffle = true,
                                                          .seed = 1,
                                                          .interleave = 2})
                     .shuffle({.capacity = 500, .seed = 2})
                     .batch({.batch_size = 32})
                     .map("parse",
                          [&](const leat::owned_record_batch& records) {
                            return parser.parse(records.views()).take();
                          },
                          {.workers = 2})
                     .prefetch(2);
  perceptron model;
  co_await batches.for_each([&](leat::tensor_tuple batch) { model.learn(batch); });
  co_return model;
}
//! [/pipeline]

leat::task<int> run(std::string folder) {
  std::filesystem::create_directories(folder);
  for (std::uint64_t i = 0; i < 4; ++i) {
    co_await write_points(folder + "/points-" + std::to_string(i) + ".tfrecord", i);
  }
  const perceptron model = co_await train(folder);
  std::printf("%.2f x + %.2f y + %.2f > 0, after %zu mistakes in 80000\n",
              static_cast<double>(model.x), static_cast<double>(model.y),
              static_cast<double>(model.bias), model.mistakes);
  co_return model.mistakes < 8000 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return leat::run(run(argc > 1 ? argv[1] : "points")); }
