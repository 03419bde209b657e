#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "leat/base/bytes.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/compression/compression.hpp"

namespace LEAT {

/// How deflate searches for repetitions. Every decompressor reads the streams of all strategies.
enum class deflate_strategy : std::uint8_t {
  standard,
  filtered,      ///< for small numbers that are random in part, such as differences
  huffman_only,  ///< no repetitions at all
  run_length,    ///< repeats of the previous byte; as fast as huffman_only, better for images
  fixed,         ///< no tables in the stream; for very small streams
};

/// Options of a deflater. The defaults match the zlib format and TensorFlow's writers.
struct deflate_options {
  int level = -1;        ///< 0 (stored) to 9 (smallest); -1: zlib's default, which is 6
  int window_bits = 15;  ///< 9 to 15: repetitions are found within 2^window_bits bytes
  int mem_level = 9;     ///< 1 to 9: memory for tables, of 2^(mem_level + 9) bytes
  /// The search for repetitions: `standard`, `filtered`, `huffman_only`, `run_length` or `fixed`.
  deflate_strategy strategy = deflate_strategy::standard;
};

/// The output that a call of a deflater completes.
enum class deflate_flush : std::uint8_t {
  none,    ///< what is ready; the rest is held back for better compression
  sync,    ///< all input so far can be decompressed from the output; costs about five bytes
  full,    ///< like sync; later data does not refer back to earlier data
  finish,  ///< the end of the stream, with its checksum
};

/// The result of a call of a deflater.
struct deflate_result {
  std::size_t consumed = 0;  ///< bytes of the input that it has consumed
  std::size_t produced = 0;  ///< bytes of the output that it has written
  bool done = false;         ///< all input is consumed and flushed as requested
};

/// A compressor that turns pieces of input into a zlib or gzip stream.
///
///     leat::deflater deflater(leat::compression::zlib);
///     leat::deflate_result r;
///     do {
///       r = deflater.deflate(input, output, leat::deflate_flush::finish);
///       use(output.first(r.produced));
///       input = input.subspan(r.consumed);
///     } while (!r.done);
///
/// The output is the same as that of zlib's deflate() with these options, however the input is
/// divided into pieces. A gzip header contains neither a name nor a time.
///
/// Thread safety: thread-compatible.
/// Cost:          2^(window_bits + 2) + 2^(mem_level + 9) bytes, with the defaults 384 KiB,
///                allocated once.
/// Reference:     zlib; ZlibOutputBuffer, ZlibCompressionOptions.
class deflater {
 public:
  /// Creates a deflater for one stream.
  /// Errors: invalid_argument for compression::none and for an option out of range, with its name.
  explicit deflater(compression format, const deflate_options& options = {});
  deflater(deflater&&) noexcept;
  deflater& operator=(deflater&&) noexcept;
  ~deflater();

  /// Minimum size of an output, in bytes.
  static constexpr std::size_t smallest_output = 16;

  /// Compresses from `in` to `out` until the input is consumed and flushed, or the output is full.
  /// A flush continues until `done`, so the next call must request the same flush. After a finish,
  /// call reset() before you compress more input; another finish is done immediately.
  deflate_result deflate(byte_view in, std::span<std::byte> out, deflate_flush flush) noexcept;

  /// Starts a new stream with the same options.
  void reset() noexcept;

  /// Returns the number of bytes consumed since the stream began.
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept;
  /// Returns the number of bytes written since the stream began.
  [[nodiscard]] std::uint64_t bytes_produced() const noexcept;

 private:
  struct state;
  // Not of one that was moved from.
  [[nodiscard]] state& self() const noexcept;

  detail::pimpl<state> state_;
};

}  // namespace LEAT
