// Makes shuffled batches of columns from CSV files, through sources that filter records. Then makes
// a batch with sparse values by hand, and exports it to other libraries without a copy.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>

namespace {

using leat::dtype;
using leat::tensor;
const leat::csv_decoder decoder({leat::csv_column::required(dtype::string, "name"),
                                 leat::csv_column::required(dtype::int64, "age")});

//! [source]
using lines = leat::filename_queue_reader<leat::line_reader>;

// Reads people from the files whose names it pops from a queue, and filters out the children.
struct adults {
  std::unique_ptr<lines> reader;

  leat::task<std::optional<leat::filtered_element>> operator()() {
    const auto line = co_await reader->read();
    if (!line) co_return std::nullopt;  // the end
    try {
      leat::tensor_tuple person = decoder.decode_one(line->value);
      const bool wanted = person["age"].value<std::int64_t>() >= 18;
      co_return leat::filtered_element{std::move(person), wanted};
    } catch (const leat::decode_error& e) {
      throw e.at(
          leat::format_line_position(line->position()));  // "people.csv:3 at offset 27, byte 7 ..."
    }
  }
};
//! [/source]

//! [batches]
leat::task<std::int64_t> sum_of_ages(std::vector<std::string> paths) {
  leat::string_input_producer files(paths, {.num_epochs = 2, .seed = 1});
  leat::tensor_shuffle_batcher people(
      decoder.spec(), {.batch_size = 4, .capacity = 32, .min_after_dequeue = 8, .seed = 1});
  for (int i = 0; i < 2; ++i) people.add(adults{std::make_unique<lines>(files.queue())});
  std::int64_t sum = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    files.start(coord);
    people.start(coord);
    while (const auto batch = co_await people.next())  // the last batch may be smaller
      for (const std::int64_t age : (*batch)["age"].values<std::int64_t>()) sum += age;
  });
  co_return sum;
}
//! [/batches]

//! [hand]
leat::task<leat::column_batch> by_hand() {
  leat::tensor_batcher samples({{.type = dtype::int64, .shape = {}},
                                {.type = dtype::float32, .shape = {1000}, .sparse = true}},
                               {.batch_size = 2});
  const tensor dense_shape = tensor::of<std::int64_t>({1}, {1000});
  for (std::int64_t i = 1; i <= 2; ++i) {
    const tensor indices = tensor::of<std::int64_t>({1, 1}, {100 * i});
    const tensor values = tensor::of<float>({1}, {0.5F});
    leat::tensor_tuple sample(tensor::scalar(i), indices, values, dense_shape);
    if (!co_await samples.push(std::move(sample))) break;
  }
  samples.close();  // no more samples follow
  auto batch = co_await samples.next();
  co_return std::move(*batch);
}
//! [/hand]

//! [export]
void hand_on(const leat::column_batch& batch) {
  leat::arrow_schema schema;
  leat::arrow_array array;
  leat::to_arrow(batch, schema, array);  // as ArrowSchema and ArrowArray
  schema.release(&schema);
  array.release(&array);
  leat::dl_managed_tensor* labels = leat::to_dlpack(batch[0]);  // as DLManagedTensor
  labels->deleter(labels);
}
//! [/export]

leat::task<int> run(std::string directory) {
  std::vector<std::string> paths;
  for (const char* text : {"Ada,36\nTim,7\n", "Grace,85\nEva,17\nAlan,41\n"}) {
    paths.push_back(directory + "/" + std::to_string(paths.size()));
    std::ofstream(paths.back()) << text;
  }
  const std::int64_t sum = co_await sum_of_ages(paths);
  hand_on(co_await by_hand());
  co_return sum == 2 * (36 + 85 + 41) ? 0 : 1;
}

}  // namespace

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "leat-XXXXXX").string();
  if (!::mkdtemp(directory.data())) return 1;
  const int status = leat::run(run(directory));
  std::filesystem::remove_all(directory);
  return status;
}
