#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/deflater.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

/// Bytes to be written to a file: collects them, compresses them if set, and writes them in order.
///
/// An error loses nothing: unwritten bytes are kept, and the next drain() writes them.
/// Thread safety: thread-bound.
class output_buffer {
 public:
  /// For an uncompressed file only `input_size` is used. Errors: invalid_argument, as for deflater.
  output_buffer(compression format, const deflate_options& options, std::size_t input_size,
                std::size_t output_size, std::uint64_t file_offset = 0);

  /// Returns the buffer for further input. After you append to it, call drain() if full().
  [[nodiscard]] std::vector<std::byte>& input() noexcept { return input_; }
  [[nodiscard]] bool full() const noexcept { return input_.size() >= input_size_; }

  /// Writes the collected bytes to the file; of a compressed one, the bytes that the flush outputs.
  /// Works in steps that let other tasks run. Errors: of file::write_at().
  [[nodiscard]] task<void> drain(file& to, deflate_flush flush);

  /// Returns the number of bytes that were appended.
  [[nodiscard]] std::uint64_t bytes_in() const noexcept {
    return drained_ + (input_.size() - input_begin_);
  }
  /// Returns the size of the file, including bytes that are not written yet.
  [[nodiscard]] std::uint64_t file_size() const noexcept {
    return offset_ + (deflater_ ? output_size_ : input_.size());
  }

 private:
  [[nodiscard]] bool deflate(deflate_flush flush);
  [[nodiscard]] task<void> put_output(file& to);

  std::optional<deflater> deflater_;
  std::size_t input_size_;
  std::vector<std::byte> input_;
  std::size_t input_begin_ = 0;  // already compressed bytes
  std::vector<std::byte> output_;
  std::size_t output_size_ = 0;
  std::uint64_t drained_ = 0;  // bytes of the input
  std::uint64_t offset_;       // of the file
};

}  // namespace LEAT::detail
