#pragma once

#include <cstddef>
#include <string>

#include "leat/core/error.hpp"

namespace leat {

/// A record that a decoder could not make values of. The message names the record, what of it is
/// wrong and where; it shows a short piece of the record at most.
class decode_error : public failure {
 public:
  /// `record`: counted from 0 within the call.
  decode_error(std::size_t record, const std::string& message, errc code = errc::invalid_argument)
      : failure(code, "record " + std::to_string(record) + message), record_(record) {}

  /// Which of the records of the call it was, from 0.
  [[nodiscard]] std::size_t record() const noexcept { return record_; }

 private:
  std::size_t record_;
};

}  // namespace leat
