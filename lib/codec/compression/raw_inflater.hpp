#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <isa-l.h>

#include "leat/base/bytes.hpp"
#include "leat/codec/compression/compression.hpp"

namespace leat::detail {

/// One deflate stream without header and trailer: ISA-L's inflater, with its ways made regular.
///
/// ISA-L could read headers and trailers too. It does not here, since it forgets the flags of a
/// gzip header that comes in pieces, and up to 2.31 keeps to itself what it read behind the end.
class raw_inflater {
 public:
  /// Begins a stream, the first one too; the checksum of what it gives is that of `format`.
  /// Cost: the tables, and as much of the history as the last stream may have written, are cleared:
  ///       25 KiB after an empty stream, 90 KiB after a long one.
  void begin(compression format) noexcept;

  /// Forgets what stood behind the end.
  void forget() noexcept { last_size_ = after_end_ = 0; }

  /// Clears the room of the next run, also if it begins where the last run stopped.
  void forget_output() noexcept { next_out_ = out_end_ = nullptr; }

  struct step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool ended = false;
    bool bad = false;
  };

  /// As much input and output as one run takes into account.
  static constexpr std::size_t largest_span = std::size_t{1} << 30;

  /// Inflates until the input is used up, the output is full, or the stream has ended.
  /// Cost: the room is cleared first, once where the next run goes on in it.
  step run(byte_view in, std::span<std::byte> out) noexcept;

  /// Bytes that it has consumed and not looked at yet.
  [[nodiscard]] std::size_t unread() const noexcept {
    return engine_.read_in_length > 0 ? static_cast<std::size_t>(engine_.read_in_length) / 8 : 0;
  }

  /// After the end: what was consumed by earlier runs and stands behind the stream.
  [[nodiscard]] byte_view after_end() const noexcept { return {last_.data(), after_end_}; }

  /// CRC-32 or Adler-32 of all output.
  [[nodiscard]] std::uint32_t checksum() const noexcept { return engine_.crc; }

 private:
  void clear(std::span<std::byte> out) noexcept;
  void remember(byte_view consumed) noexcept;

  // As many as the engine reads ahead.
  static constexpr std::size_t max_unread = 8;

  ::inflate_state engine_;
  std::array<std::byte, max_unread> last_{};  // of the input of former runs
  std::size_t last_size_ = 0;
  std::size_t after_end_ = 0;
  const std::byte* next_out_ = nullptr;  // where the last run has stopped
  std::byte* out_end_ = nullptr;         // up to where its room was cleared
  bool begun_ = false;                   // the engine's memory holds a stream
  bool ended_ = false;                   // and that one has ended: its output was delivered
  std::size_t written_ = 0;              // bytes that it has delivered
};

}  // namespace leat::detail
