/// Reads records in a new random order in each epoch, without a shuffle buffer. Two ranks share the
/// records; the first stops in the middle and continues from a few saved bytes. A fingerprint of
/// each epoch shows that the ranks together read each record exactly once.

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace {

leat::task<std::vector<std::string>> write_files(std::string prefix) {
  std::vector<std::string> paths;
  for (int file = 0; file < 3; ++file) {
    paths.push_back(prefix + std::to_string(file) + ".tfrecord");
    auto writer = co_await leat::tfrecord_writer::open(paths.back());
    for (int i = 0; i < 1000; ++i) {
      const std::string record = "record " + std::to_string(i) + " of file " + std::to_string(file);
      co_await writer.write(leat::as_bytes(record));
    }
    co_await writer.close();
  }
  co_return paths;
}

//! [options]
leat::indexed_reader_options options_of(std::uint64_t rank) {
  leat::indexed_reader_options o;
  o.num_epochs = 2;
  o.seed = 42;
  o.world = {.rank = rank, .world_size = 2};
  return o;
}
//! [/options]

using fingerprints = std::vector<leat::epoch_fingerprint>;

//! [read]
// Reads up to `batches` batches and adds their records to the fingerprints of their epochs. Returns
// false at the end.
leat::task<bool> read_some(leat::indexed_reader& reader, int batches, fingerprints& epochs) {
  leat::record_selection batch;
  for (; batches > 0; --batches) {
    const bool more = co_await reader.read_batch(batch);
    if (!more) co_return false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      epochs[reader.epoch()].add(batch.global_index(i), batch[i]);
    }
  }
  co_return true;
}
//! [/read]

leat::task<> run(std::string prefix) {
  const std::vector<std::string> paths = co_await write_files(prefix);
  fingerprints seen(2);
  std::string state;
  {
    auto first = co_await leat::indexed_reader::open(paths, options_of(0));
    co_await read_some(*first, 7, seen);
    state = first->serialize_state();  // save it with the model
  }
  //! [resume]
  auto again = co_await leat::indexed_reader::open(paths, options_of(0));
  again->restore_state(state);
  //! [/resume]
  while (co_await read_some(*again, 10, seen)) {
  }
  auto second = co_await leat::indexed_reader::open(paths, options_of(1));
  while (co_await read_some(*second, 10, seen)) {
  }

  leat::epoch_fingerprint expected;
  for (std::size_t file = 0; file < paths.size(); ++file) {
    auto reader = co_await leat::tfrecord_reader::open(paths[file]);
    leat::record_batch batch;
    while (co_await reader->read_batch(batch)) {
      for (const leat::byte_view record : batch) expected.add(expected.count(), record);
    }
  }
  for (const leat::epoch_fingerprint& f : seen) std::printf("%s\n", to_string(f).c_str());
  if (seen != fingerprints(2, expected)) throw std::runtime_error("the records differ");
  std::printf("each record was read once in each epoch; the state has %zu bytes\n", state.size());
}

}  // namespace

int main(int argc, char** argv) { return leat::run(run(argc > 1 ? argv[1] : "global_shuffle")); }
