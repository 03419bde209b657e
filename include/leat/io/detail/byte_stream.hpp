#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "leat/core/task.hpp"
#include "leat/io/detail/framing.hpp"
#include "leat/io/detail/read_ahead.hpp"
#include "leat/io/detail/window.hpp"
#include "leat/io/file.hpp"

namespace leat::detail {

/// The bytes of a file as its records lie in them.
///
/// Thread safety: thread-bound.
class byte_stream {
 public:
  byte_stream(file& f, const read_options& options, std::size_t headroom)
      : file_(f), source_(f, options, headroom) {}

  /// Brings the next bytes into view, behind the last `carried` of those that are. False at the
  /// end: then just these are in view. Errors, cancellation: as read_ahead::advance().
  [[nodiscard]] task<bool> advance(std::size_t carried, std::source_location where) {
    return source_.advance(carried, where);
  }

  [[nodiscard]] const window& view() const noexcept { return source_.view(); }

  /// Bytes of the stream, where that is known before its end.
  [[nodiscard]] std::uint64_t size() const noexcept {
    return file_.status().size > 0 ? file_.status().size : unknown_size;
  }

  /// True: seek() costs no more than to read on.
  [[nodiscard]] bool can_jump() const noexcept { return file_.status().size > 0; }

  /// Goes on as near before `offset` as can be, and gives where; nothing is in view then.
  /// Errors: unimplemented for a file that can only be read in sequence.
  [[nodiscard]] std::uint64_t seek(std::uint64_t offset);

 private:
  file& file_;
  read_ahead source_;
};

}  // namespace leat::detail
