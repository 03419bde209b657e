#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/io/reader/record_reader.hpp"

namespace LEAT {

/// Options of identity_reader, none of which has an effect.
struct identity_reader_options {
  corruption_options corruption = {};  ///< unused; all readers have this option
};

/// A reader that delivers the name of its file as the only record and does not open the file.
///
/// Use it with a filename_queue_reader if a pipeline needs only the names.
///
/// Thread safety: thread-bound. TensorFlow: IdentityReader.
class identity_reader {
 public:
  using options_type = identity_reader_options;
  using batch_type = record_batch;
  /// The name of the reader in messages and saved states.
  static constexpr std::string_view name = "identity_reader";
  /// True, because the name of the file is its only record.
  static constexpr bool is_one_record_per_file = true;

  /// Like basic_record_reader::open(), but does not open a file.
  [[nodiscard]] static task<std::unique_ptr<identity_reader>> open(
      std::string path, options_type = {}, std::source_location = std::source_location::current());

  explicit identity_reader(std::string path)
      : path_(std::make_shared<const std::string>(std::move(path))) {}

  /// Like basic_record_reader::read_batch().
  [[nodiscard]] task<bool> read_batch(batch_type& batch,
                                      std::source_location = std::source_location::current());

  /// Like basic_record_reader::seek(); the end follows the first record.
  void seek(std::uint64_t, std::uint64_t index) noexcept { delivered_ = index > 0; }

  /// Like basic_record_reader::count_reports().
  void count_reports(std::uint64_t before) noexcept { reports_ += before; }

  /// Returns the position of the next record, valid as long as the reader exists. Its offset is 0.
  [[nodiscard]] record_position position() const noexcept {
    return {*path_, 0, delivered_ ? 1U : 0U};
  }
  /// Returns the path of the file, which is also its only record.
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }
  /// Returns an empty status, because the file is not opened.
  [[nodiscard]] file_status status() const noexcept { return {}; }
  /// Returns the counters of the reader.
  [[nodiscard]] reader_statistics statistics() const noexcept {
    return {.records = position().index, .reports = reports_};
  }

  /// Returns the name.
  [[nodiscard]] static std::string key(const record_position& p) { return std::string(p.path); }

 private:
  std::shared_ptr<const std::string> path_;
  bool delivered_ = false;
  std::uint64_t reports_ = 0;  // of others
};

}  // namespace LEAT
