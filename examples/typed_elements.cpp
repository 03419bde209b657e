// Parses tf.train.Examples into values of a struct, and shuffles and batches these values.

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace {

leat::task<> write_drawings(std::string path) {
  auto writer = co_await leat::tfrecord_writer::open(path);
  for (std::int64_t label = 0; label < 100; ++label) {
    const auto x = static_cast<float>(label);
    leat::example_builder example;
    example.add("label", {label}).add("corner", {x, x + 1});
    if (label % 10 == 0) example.add("author", {"somebody"});
    co_await writer.write(leat::as_bytes(example.serialize()));
  }
  co_await writer.close();
}

//! [fields]
struct drawing {
  std::int64_t label = 0;
  std::array<float, 2> corner = {};
  std::string author;
};

leat::task<std::size_t> count_signed(std::string path) {
  const leat::example_fields<drawing> fields(
      {leat::required_field<&drawing::label>("label"),
       leat::required_field<&drawing::corner>("corner"),
       leat::optional_field<&drawing::author>("author", "unknown")});
  auto drawings = leat::read_files<leat::tfrecord_reader>({.files = {path}})
                      .map("parse", [&](leat::byte_view record) { return fields.parse(record); })
                      .shuffle({.capacity = 50, .seed = 1})
                      .batch({.batch_size = 8});
  std::size_t with_author = 0;
  co_await drawings.for_each([&](const std::vector<drawing>& batch) {
    for (const drawing& d : batch) with_author += d.author != "unknown";
  });
  co_return with_author;
}
//! [/fields]

leat::task<int> run(std::string path) {
  co_await write_drawings(path);
  const std::size_t with_author = co_await count_signed(path);
  std::printf("%zu of 100 drawings are signed\n", with_author);
  co_return with_author == 10 ? 0 : 1;
}

}  // namespace

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "leat-XXXXXX").string();
  if (!::mkdtemp(directory.data())) return 1;
  const int status = leat::run(run(directory + "/drawings.tfrecord"));
  std::filesystem::remove_all(directory);
  return status;
}
