#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <isa-l.h>

#include "leat/base/bytes.hpp"
#include "leat/codec/compression/compression.hpp"

namespace LEAT::detail {

/// One deflate stream without header and trailer: the inflater of ISA-L with regular behaviour.
///
/// This class does not let ISA-L read headers and trailers. ISA-L forgets the flags of a gzip
/// header that arrives in pieces, and up to 2.31 it hides the bytes that it read after the end.
class raw_inflater {
 public:
  /// Starts a stream, also the first one. The checksum of the output is the one of `format`.
  /// Cost: clears the tables, and the part of the history that the last stream may have written: 25
  ///       KiB after an empty stream, 90 KiB after a long one.
  void begin(compression format) noexcept;

  /// Forgets the bytes after the end.
  void forget() noexcept { last_size_ = after_end_ = 0; }

  /// Clears the output of the next run, also if it begins where the last run stopped.
  void forget_output() noexcept { next_out_ = out_end_ = nullptr; }

  struct step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool ended = false;
    bool bad = false;
  };

  /// The largest input and output of one run.
  static constexpr std::size_t largest_span = std::size_t{1} << 30;

  /// Inflates until the input is used up, the output is full, or the stream has ended.
  /// Cost: the output is cleared first, once if the next run continues in it.
  step run(byte_view in, std::span<std::byte> out) noexcept;

  /// Returns the number of bytes that it has consumed and not used yet.
  [[nodiscard]] std::size_t unread() const noexcept {
    return engine_.read_in_length > 0 ? static_cast<std::size_t>(engine_.read_in_length) / 8 : 0;
  }

  /// Returns the bytes after the end of the stream that earlier runs consumed.
  [[nodiscard]] byte_view after_end() const noexcept { return {last_.data(), after_end_}; }

  /// CRC-32 or Adler-32 of all output.
  [[nodiscard]] std::uint32_t checksum() const noexcept { return engine_.crc; }

 private:
  void clear(std::span<std::byte> out) noexcept;
  void remember(byte_view consumed) noexcept;

  // As many bytes as the engine reads ahead.
  static constexpr std::size_t max_unread = 8;

  ::inflate_state engine_;
  std::array<std::byte, max_unread> last_{};  // of the input of earlier runs
  std::size_t last_size_ = 0;
  std::size_t after_end_ = 0;
  const std::byte* next_out_ = nullptr;  // end of the last run
  std::byte* out_end_ = nullptr;         // end of the cleared output
  bool begun_ = false;                   // the engine has the state of a stream
  bool ended_ = false;                   // that stream has ended and its output was delivered
  std::size_t written_ = 0;              // bytes that it has output
};

}  // namespace LEAT::detail
