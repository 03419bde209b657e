// Decodes records to typed columns, first from a CSV file and then from tf.train.Examples.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <leat/leat.hpp>

namespace {

using leat::dtype;

//! [csv]
leat::task<double> mean_price(std::string path) {
  const leat::csv_decoder decoder(
      {leat::csv_column::required(dtype::string, "name"),
       leat::csv_column::required(dtype::float64, "price"),
       leat::csv_column::optional(std::int64_t{1}, "pieces")});  // 1 if the field is empty
  auto reader = co_await leat::csv_reader::open(path, {.skip_header_records = 1});
  leat::record_batch records;
  double sum = 0;
  std::int64_t pieces = 0;
  while (co_await reader->read_batch(records)) {
    const leat::tensor_tuple columns = decoder.decode(std::span<const leat::byte_view>(records));
    const auto prices = columns["price"].values<double>();
    const auto counts = columns["pieces"].values<std::int64_t>();
    for (std::size_t i = 0; i < records.size(); ++i) {
      sum += prices[i] * static_cast<double>(counts[i]);
      pieces += counts[i];
    }
  }
  co_return sum / static_cast<double>(pieces);
}
//! [/csv]

leat::task<> write_examples(std::string path) {
  auto writer = co_await leat::tfrecord_writer::open(path);
  //! [build]
  leat::example_builder example;
  for (std::int64_t label = 0; label < 3; ++label) {
    example.clear();
    example.add("label", {label});
    example.add("words", std::vector<std::string_view>(static_cast<std::size_t>(label), "word"));
    const std::string record = example.serialize();
    co_await writer.write(leat::as_bytes(record));
  }
  //! [/build]
  co_await writer.close();
}

//! [examples]
leat::task<std::size_t> count_words(std::string path) {
  const leat::example_parser parser({{"label", leat::fixed_len_feature{.type = dtype::int64}},
                                     {"words", leat::var_len_feature{.type = dtype::string}}});
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch records;
  std::size_t words = 0;
  while (co_await reader->read_batch(records)) {
    const auto features = parser.parse(std::span<const leat::byte_view>(records));
    std::printf("%zu labels\n", features.dense("label").count());  // a tensor of shape [records]
    words += features.sparse("words").values.count();
  }
  co_return words;
}
//! [/examples]

leat::task<int> run(std::string directory) {
  std::ofstream(directory + "/prices.csv")
      << "name,price,pieces\n\"nuts,\nsmall\",0.25,3\nnail,0.5,\n";
  const double mean = co_await mean_price(directory + "/prices.csv");
  co_await write_examples(directory + "/examples.tfrecord");
  const std::size_t words = co_await count_words(directory + "/examples.tfrecord");
  std::printf("mean price %.4f, %zu words\n", mean, words);
  co_return mean == 0.3125 && words == 3 ? 0 : 1;
}

}  // namespace

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "leat-XXXXXX").string();
  if (!::mkdtemp(directory.data())) return 1;
  const int status = leat::run(run(directory));
  std::filesystem::remove_all(directory);
  return status;
}
