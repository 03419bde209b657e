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

namespace leat {

/// How a name is read as a record: there is nothing to choose.
struct identity_reader_options {
  corruption_options corruption = {};  ///< never needed; the readers have it in common
};

/// Gives the name itself as the only record; no file is opened.
///
/// For a queue_reader whose names are all that a pipeline needs.
///
/// Thread safety: thread-bound. TensorFlow: IdentityReader.
class identity_reader {
 public:
  using options_type = identity_reader_options;
  using batch_type = record_batch;
  static constexpr std::string_view name = "identity_reader";
  static constexpr bool is_one_record_per_file = true;

  /// As basic_record_reader::open(), without opening anything.
  [[nodiscard]] static task<std::unique_ptr<identity_reader>> open(
      std::string path, options_type = {}, std::source_location = std::source_location::current());

  explicit identity_reader(std::string path)
      : path_(std::make_shared<const std::string>(std::move(path))) {}

  /// As basic_record_reader::read_batch().
  [[nodiscard]] task<bool> read_batch(batch_type& batch,
                                      std::source_location = std::source_location::current());

  /// As basic_record_reader::seek(): behind the first record is the end.
  void seek(std::uint64_t, std::uint64_t index) noexcept { delivered_ = index > 0; }

  /// As basic_record_reader::count_reports().
  void count_reports(std::uint64_t before) noexcept { reports_ += before; }

  [[nodiscard]] record_position position() const noexcept {
    return {*path_, 0, delivered_ ? 1U : 0U};
  }
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }
  [[nodiscard]] file_status status() const noexcept { return {}; }
  [[nodiscard]] reader_statistics statistics() const noexcept {
    return {.records = position().index, .reports = reports_};
  }

  /// The name.
  [[nodiscard]] static std::string key(const record_position& p) { return std::string(p.path); }

 private:
  std::shared_ptr<const std::string> path_;
  bool delivered_ = false;
  std::uint64_t reports_ = 0;  // of others
};

}  // namespace leat
