#pragma once

#include <string>
#include <utility>

#include <leat/async/task.hpp>
#include <leat/base/bytes.hpp>

#include "output/column_output.hpp"
#include "output/record_sink.hpp"

namespace tool {

/// Writes the lines of one file of CSV, whose first one may need quotes: see csv_first_line().
class csv_line_writer {
 public:
  /// `to` has to outlive this object.
  csv_line_writer(record_sink& to, char delimiter) noexcept : to_(to), delimiter_(delimiter) {}

  leat::task<> write(std::string line) {
    if (std::exchange(is_first_, false)) line = csv_first_line(std::move(line), delimiter_);
    co_await to_.write(leat::as_bytes(line));
  }

 private:
  record_sink& to_;
  const char delimiter_;
  bool is_first_ = true;
};

}  // namespace tool
