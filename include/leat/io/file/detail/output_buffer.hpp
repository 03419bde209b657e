#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/deflater.hpp"
#include "leat/io/file/file.hpp"

namespace leat::detail {

/// Bytes on their way to a file: collected, compressed where that is wanted, and written one behind
/// the other.
///
/// After an error nothing is lost: what the file has not taken is kept, and written by the next
/// drain().
/// Thread safety: thread-bound.
class output_buffer {
 public:
  /// Of a plain file only `input_size` counts. Errors: invalid_argument, as deflater's.
  output_buffer(compression format, const deflate_options& options, std::size_t input_size,
                std::size_t output_size, std::uint64_t file_offset = 0);

  /// Whoever appends to this calls drain() once it is full().
  [[nodiscard]] std::vector<std::byte>& input() noexcept { return input_; }
  [[nodiscard]] bool full() const noexcept { return input_.size() >= input_size_; }

  /// Writes what is there to the file; of a compressed one, what the flush brings out. In steps
  /// that let others run. Errors: of file::write_at.
  [[nodiscard]] task<void> drain(file& to, deflate_flush flush);

  /// Bytes put in so far.
  [[nodiscard]] std::uint64_t bytes_in() const noexcept {
    return drained_ + (input_.size() - input_begin_);
  }
  /// Bytes of the file so far, those that wait to be written included.
  [[nodiscard]] std::uint64_t file_size() const noexcept {
    return offset_ + (deflater_ ? output_size_ : input_.size());
  }

 private:
  [[nodiscard]] bool deflate(deflate_flush flush);
  [[nodiscard]] task<void> put_output(file& to);

  std::optional<deflater> deflater_;
  std::size_t input_size_;
  std::vector<std::byte> input_;
  std::size_t input_begin_ = 0;  // what was compressed already
  std::vector<std::byte> output_;
  std::size_t output_size_ = 0;
  std::uint64_t drained_ = 0;  // bytes of the input
  std::uint64_t offset_;       // of the file
};

}  // namespace leat::detail
