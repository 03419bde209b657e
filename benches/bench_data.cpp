// Writes the input files of the benchmarks. The same arguments produce the same bytes.
//
//   bench_data tfrecord FILE BYTES RECORD_SIZE  records of RECORD_SIZE bytes
//   bench_data text FILE BYTES                  lines of 40 to 120 bytes
//   bench_data gzip FILE BYTES                  rows of numbers and words, compressed to two fifths
//   bench_data csv FILE BYTES                   rows of five columns
//   bench_data csv-files DIRECTORY BYTES        four files of rows of five columns
//   bench_data fixed FILE BYTES                 records of 3,073 bytes
//   bench_data examples DIRECTORY BYTES         four files of Examples of 1 KiB
//   bench_data files DIRECTORY BYTES            files of 4 to 100 KiB

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <leat/leat.hpp>

#include "support/training_example.hpp"

namespace {

std::string noise(leat::random_engine& random, std::size_t size) {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

leat::task<> write_records(std::string path, std::size_t bytes, std::size_t size) {
  leat::random_engine random(1);
  auto writer = co_await leat::tfrecord_writer::open(path);
  while (writer.bytes_written() < bytes) {
    const std::string payload = noise(random, size);
    co_await writer.write(leat::as_bytes(payload));
  }
  co_await writer.close();
}

std::string example(leat::random_engine& random, std::int64_t label) {
  std::vector<float> features(bench::training_example::features);
  for (float& f : features) f = static_cast<float>(random.uniform_below(1000)) / 1000;
  const std::string image = noise(random, bench::training_example::image_size);
  return leat::example_builder()
      .add("image", {std::string_view(image)})
      .add("features", features)
      .add("label", {label})
      .serialize();
}

leat::task<> write_examples(std::string directory, std::size_t bytes) {
  leat::random_engine random(1);
  std::filesystem::create_directory(directory);
  for (int file = 0; file < 4; ++file) {
    auto writer = co_await leat::tfrecord_writer::open(directory + '/' + std::to_string(file));
    while (writer.bytes_written() < bytes / 4) {
      const std::string record =
          example(random, static_cast<std::int64_t>(random.uniform_below(10)));
      co_await writer.write(leat::as_bytes(record));
    }
    co_await writer.close();
  }
}

void write_lines(const std::string& path, std::size_t bytes) {
  leat::random_engine random(1);
  std::ofstream out(path);
  for (std::size_t written = 0; written < bytes;) {
    std::string line(40 + random.uniform_below(81), ' ');
    for (char& c : line) c = static_cast<char>('a' + random.uniform_below(26));
    line += '\n';
    out << line;
    written += line.size();
  }
}

void write_fixed(const std::string& path, std::size_t bytes) {
  leat::random_engine random(1);
  std::ofstream out(path, std::ios::binary);
  for (std::size_t written = 0; written < bytes; written += 3073) out << noise(random, 3073);
}

void write_files(const std::string& directory, std::size_t bytes) {
  leat::random_engine random(1);
  std::filesystem::create_directory(directory);
  for (std::size_t written = 0, i = 0; written < bytes; ++i) {
    const std::size_t size = (4 << 10) + random.uniform_below(96 << 10);
    std::ofstream(directory + '/' + std::to_string(i), std::ios::binary) << noise(random, size);
    written += size;
  }
}

std::string row(leat::random_engine& random, std::size_t index) {
  constexpr const char* words[] = {"north", "south", "pending", "delivered", "returned", "EUR"};
  std::string text = std::to_string(1'700'000'000 + index * 3) + ',' + std::to_string(index);
  for (int i = 0; i < 6; ++i) {
    text += ',';
    text += i % 6 == 5 ? words[random.uniform_below(6)]
                       : std::to_string(random.uniform_below(1'000'000));
  }
  return text + '\n';
}

void write_csv(const std::string& path, std::size_t bytes) {
  leat::random_engine random(1);
  constexpr const char* states[] = {"pending", "delivered", "returned"};
  std::ofstream out(path, std::ios::binary);
  for (std::size_t i = 0; static_cast<std::size_t>(out.tellp()) < bytes; ++i) {
    out << 1'000'000 + i << ',' << random.uniform_below(100'000) << '.' << random.uniform_below(100)
        << ",0." << random.uniform_below(10'000) << ',' << states[random.uniform_below(3)] << ','
        << random.uniform_below(1'000) << '\n';
  }
}

void write_csv_files(const std::string& directory, std::size_t bytes) {
  std::filesystem::create_directory(directory);
  for (int file = 0; file < 4; ++file) write_csv(directory + '/' + std::to_string(file), bytes / 4);
}

void write_gzip(const std::string& path, std::size_t bytes) {
  leat::random_engine random(1);
  leat::deflater deflater(leat::compression::gzip);
  std::ofstream out(path, std::ios::binary);
  std::vector<std::byte> room(std::size_t{256} << 10);
  bool finished = false;
  for (std::size_t written = 0, index = 0; !finished;) {
    std::string rows;
    while (rows.size() < (std::size_t{1} << 20)) rows += row(random, index++);
    written += rows.size();
    finished = written >= bytes;
    leat::byte_view in = leat::as_bytes(rows);
    leat::deflate_result r;
    do {
      r = deflater.deflate(in, room,
                           finished ? leat::deflate_flush::finish : leat::deflate_flush::none);
      out << leat::as_text({room.data(), r.produced});
      in = in.subspan(r.consumed);
    } while (!r.done);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string kind = argv[1];
  const std::string path = argv[2];
  const std::size_t bytes = std::strtoull(argv[3], nullptr, 10);
  if (kind == "tfrecord" && argc == 5) {
    leat::block_on(write_records(path, bytes, std::strtoull(argv[4], nullptr, 10)));
  } else if (kind == "examples") {
    leat::block_on(write_examples(path, bytes));
  } else if (kind == "text") {
    write_lines(path, bytes);
  } else if (kind == "csv") {
    write_csv(path, bytes);
  } else if (kind == "csv-files") {
    write_csv_files(path, bytes);
  } else if (kind == "gzip") {
    write_gzip(path, bytes);
  } else if (kind == "fixed") {
    write_fixed(path, bytes);
  } else if (kind == "files") {
    write_files(path, bytes);
  } else {
    return 2;
  }
  return 0;
}
