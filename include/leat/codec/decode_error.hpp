#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "leat/base/error.hpp"

namespace LEAT {

/// A failure to decode a record. The message names the record, the error and its position. It
/// contains at most a short excerpt of the record.
class decode_error : public failure {
 public:
  /// Creates an error of a record. `record` is its index within the call, from 0.
  decode_error(std::size_t record, const std::string& message, errc code = errc::invalid_argument)
      : decode_error(record, "record " + std::to_string(record), message, make_error_code(code)) {}

  /// Returns the index of the record within the call, from 0.
  [[nodiscard]] std::size_t record() const noexcept { return record_; }

  /// Returns the number of records in the call. It is 1 if the decoder did not set it.
  [[nodiscard]] std::size_t records() const noexcept { return records_; }
  /// Returns a copy with the number of records in the call. A decoder calls it, so that a pipeline
  /// knows which record of a batch is corrupt.
  [[nodiscard]] decode_error with_record_count(std::size_t records) const noexcept {
    decode_error e = *this;
    e.records_ = records;
    return e;
  }

  /// Returns a copy whose message begins with `position` instead of, for example, "record 3". The
  /// stages of a pipeline call it; see format_record_position().
  ///
  /// Errors: std::bad_alloc.
  [[nodiscard]] decode_error at(const std::string& position) const {
    decode_error e(record_, position, *message_, code());
    e.records_ = records_;
    e.has_position_ = true;
    return e;
  }
  /// Returns true if at() created this copy.
  [[nodiscard]] bool has_position() const noexcept { return has_position_; }

 private:
  decode_error(std::size_t record, const std::string& position, const std::string& message,
               std::error_code code)
      : failure(code, position + message),
        record_(record),
        message_(std::make_shared<const std::string>(message)) {}

  std::size_t record_;
  std::size_t records_ = 1;
  bool has_position_ = false;
  std::shared_ptr<const std::string>
      message_;  // after the position; shared, so that copies cannot fail
};

}  // namespace LEAT
