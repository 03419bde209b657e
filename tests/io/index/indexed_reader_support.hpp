#pragma once

#include <functional>

#include "leat/base/random.hpp"
#include "leat/codec/checksum/epoch_fingerprint.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"

// Common parts of the tests of indexed_reader.
namespace indexed_reader_test {

using leat::indexed_reader;
using leat::indexed_reader_options;
using leat::sim::world;
using leat_test::outcome;
using leat_test::texts;
using numbers = std::vector<std::uint64_t>;

/// A data set: files and all of their records.
struct data {
  texts paths = {};
  texts records = {};

  /// Creates `files[i]` records in file i. Each record starts with its number and has a random
  /// length.
  static data make(world& w, const numbers& files, std::uint64_t longest = 200) {
    data d;
    leat::random_engine random(3);
    for (const std::uint64_t count : files) {
      texts of_file;
      for (std::uint64_t i = 0; i < count; ++i) {
        of_file.push_back(
            std::to_string(d.records.size()) + "." +
            std::string(static_cast<std::size_t>(random.uniform_below(longest)), 'x'));
        d.records.push_back(of_file.back());
      }
      d.paths.push_back("/" + std::to_string(d.paths.size()) + ".tfrecord");
      w.files().write_file(d.paths.back(), leat_test::framed(of_file));
    }
    return d;
  }
};

inline task<std::unique_ptr<indexed_reader>> open(const data& d, indexed_reader_options options) {
  co_return co_await indexed_reader::open(d.paths, std::move(options));
}

/// The numbers of the records in the order of their arrival, and the epoch of each.
struct reading {
  numbers global_indexes = {};
  numbers epochs = {};
};

/// Checks the records of a batch and adds them.
inline void add_batch(reading& to, const indexed_reader& from, const leat::record_selection& batch,
                      const data& d) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::uint64_t global_index = batch.global_index(i);
    REQUIRE(leat::as_text(batch[i]) == d.records.at(static_cast<std::size_t>(global_index)));
    to.global_indexes.push_back(global_index);
    to.epochs.push_back(from.epoch());
  }
}

/// Reads to the end, or at most `most` batches.
inline task<> read(indexed_reader& from, const data& d, reading& to, std::size_t most = SIZE_MAX) {
  leat::record_selection batch;
  for (bool more = true; more && most > 0; --most) {
    more = co_await from.read_batch(batch);
    REQUIRE(more == !batch.empty());
    add_batch(to, from, batch, d);
  }
}

/// Runs a body in a new simulated world.
inline void in_world(std::function<task<>(world&)> body, std::uint64_t seed = 1,
                     leat::sim::world_options options = {}) {
  world w(seed, options);
  w.run([&](world& here) -> task<> { co_await body(here); });
}

inline constexpr leat::sim::fault_rates passing{
    .short_transfer = 0.3, .interrupted = 0.1, .again = 0.1, .cancelled_late = 0.1, .slow = 0.05};

}  // namespace indexed_reader_test
