#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "leat/base/bytes.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/compression/compression.hpp"

namespace leat {

/// How deflate looks for repetitions; all give streams that every inflater reads.
enum class deflate_strategy : std::uint8_t {
  standard,
  filtered,      ///< for small numbers that are random in part, such as differences
  huffman_only,  ///< no repetitions at all
  run_length,    ///< only of the byte before; as fast as huffman_only, better for images
  fixed,         ///< no tables in the stream: for very small ones
};

/// How a stream is compressed. The defaults are those of zlib's format and of TensorFlow's writers.
struct deflate_options {
  int level = -1;        ///< 0 (stored) to 9 (smallest); -1: zlib's default, which is 6
  int window_bits = 15;  ///< 9 to 15: repetitions are found within 2^window_bits bytes
  int mem_level = 9;     ///< 1 to 9: memory for tables, of 2^(mem_level + 9) bytes
  deflate_strategy strategy = deflate_strategy::standard;
};

/// What a call of a deflater is to bring out.
enum class deflate_flush : std::uint8_t {
  none,    ///< what is ready; the rest is collected for better compression
  sync,    ///< all input so far can be inflated from the output; costs about five bytes
  full,    ///< and what follows does not refer back to it
  finish,  ///< the end of the stream, with its checksum
};

/// What a call of a deflater did.
struct deflate_result {
  std::size_t consumed = 0;  ///< bytes of the input that it has taken
  std::size_t produced = 0;  ///< bytes of the output that it has written
  bool done = false;         ///< all of the input is taken, and flushed as asked for
};

/// Compresses bytes that come in pieces to a zlib or gzip stream.
///
/// The same input gives the same bytes as zlib's deflate() with these options does, whatever the
/// pieces. A gzip header has neither name nor time.
///
///     leat::deflater deflater(leat::compression::zlib);
///     leat::deflate_result r;
///     do {
///       r = deflater.deflate(input, output, leat::deflate_flush::finish);
///       use(output.first(r.produced));
///       input = input.subspan(r.consumed);
///     } while (!r.done);
///
/// Thread safety: thread-compatible.
/// Cost: 2^(window_bits + 2) + 2^(mem_level + 9) bytes, with the defaults 384 KiB, taken once.
/// Reference: zlib; ZlibOutputBuffer, ZlibCompressionOptions.
class deflater {
 public:
  /// Errors: invalid_argument for compression::none and for an option out of range, with its name.
  explicit deflater(compression format, const deflate_options& options = {});
  deflater(deflater&&) noexcept;
  deflater& operator=(deflater&&) noexcept;
  ~deflater();

  /// An output must have at least so many bytes.
  static constexpr std::size_t smallest_output = 16;

  /// Compresses from `in` to `out` until the input is used up and flushed, or the output is full.
  /// Until `done` a flush goes on: the next call must ask for the same. Behind a finish only a
  /// reset() begins anew; another finish is done at once.
  deflate_result deflate(byte_view in, std::span<std::byte> out, deflate_flush flush) noexcept;

  /// Begins a new stream with the same options.
  void reset() noexcept;

  /// Bytes taken and written since the stream began.
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept;
  [[nodiscard]] std::uint64_t bytes_produced() const noexcept;

 private:
  struct state;
  // Not of one that was moved from.
  [[nodiscard]] state& self() const noexcept;

  detail::pimpl<state> state_;
};

}  // namespace leat
