#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <leat/leat.hpp>

#include "features.hpp"
#include "options.hpp"

/// A file to read, and the language of its lines. Each record of a shard contains its own label.
struct source {
  enum class kind : std::uint8_t { c, cpp, shard };
  std::string path;
  kind what = kind::c;
};

/// The files for training and the files for the test.
struct sources {
  std::vector<source> training;
  std::vector<source> held_out;
};

/// Finds the files that the options name. Throws if no file of a language matches, or if none is
/// left for training.
leat::task<sources> find_sources(const options& o);

/// Reads the samples of a text file or a shard, batch by batch.
class source_reader {
 public:
  static leat::task<std::unique_ptr<source_reader>> open(const source& s);

  /// Returns the next samples, or an empty vector at the end.
  leat::task<std::vector<sample>> next();

  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  source::kind kind_ = source::kind::c;
  std::unique_ptr<leat::line_reader> lines_;
  std::unique_ptr<leat::tfrecord_reader> records_;
  leat::line_batch line_batch_;
  leat::record_batch record_batch_;
};

/// Writes the useful lines of all files to TFRecord files. A record is "+" for C++ or "-" for C,
/// followed by the line.
leat::task<void> write_shards(const options& o);
