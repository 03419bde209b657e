#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <leat/leat.hpp>

#include "features.hpp"
#include "options.hpp"

/// A file to read and what it holds; of a shard each record says it itself.
struct source {
  enum class kind : std::uint8_t { c, cpp, shard };
  std::string path;
  kind what = kind::c;
};

/// The files, divided into those to learn from and those to be tested with.
struct sources {
  std::vector<source> training;
  std::vector<source> held_out;
};

/// Finds the files that the options name. Throws when there are none of a kind.
leat::task<sources> find_sources(const options& o);

/// Gives the lines of a file, batch by batch, whatever its format.
class source_reader {
 public:
  static leat::task<std::unique_ptr<source_reader>> open(const source& s);

  /// The next samples, at least one; none at the end.
  leat::task<std::vector<sample>> next();

  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  source::kind kind_ = source::kind::c;
  std::unique_ptr<leat::line_reader> lines_;
  std::unique_ptr<leat::tfrecord_reader> records_;
  leat::line_batch line_batch_;
  leat::record_batch record_batch_;
};

/// Writes the useful lines of all files as TFRecord files: a record is "+" or "-", for C++ or C,
/// and the line.
leat::task<void> write_shards(const options& o);
