#include "leat/io/file/detail/output_buffer.hpp"

#include <algorithm>

#include "leat/async/internal/yield_turn.hpp"

namespace LEAT::detail {
namespace {

// Bytes of input that are compressed without a pause: some milliseconds of work.
constexpr std::size_t deflate_step = std::size_t{256} << 10;

}  // namespace

// Bytes pass from input_ through the compressor and output_ to the file, and each stage keeps what
// the next one has not accepted: input_ from input_begin_ on, output_ up to output_size_. A write
// that failed or was cancelled is repeated at the same offset, and so overwrites the part that it
// had written.

output_buffer::output_buffer(compression format, const deflate_options& options,
                             std::size_t input_size, std::size_t output_size,
                             std::uint64_t file_offset)
    : input_size_(input_size), offset_(file_offset) {
  if (format == compression::none) return;
  deflater_.emplace(format, options);
  output_.resize(output_size);
}

task<void> output_buffer::drain(file& to, deflate_flush flush) {
  if (!deflater_) {
    co_await to.write_at(offset_, input_);
    offset_ += input_.size();
    drained_ += input_.size();
    input_.clear();
    co_return;
  }
  for (bool done = false; !done;) {
    // deflate() requires this much space.
    if (output_.size() - output_size_ < deflater::smallest_output) co_await put_output(to);
    done = deflate(flush);
    if (is_turn_over()) co_await yield_turn();
  }
  if (flush != deflate_flush::none) co_await put_output(to);
}

// Does one step. Returns true when all input is compressed and flushed.
bool output_buffer::deflate(deflate_flush flush) {
  const byte_view rest = byte_view(input_).subspan(input_begin_);
  const byte_view piece = rest.first(std::min(rest.size(), deflate_step));
  const bool last = piece.size() == rest.size();
  const deflate_result r = deflater_->deflate(piece, std::span(output_).subspan(output_size_),
                                              last ? flush : deflate_flush::none);
  output_size_ += r.produced;
  drained_ += r.consumed;
  input_begin_ += r.consumed;
  if (input_begin_ == input_.size()) {
    input_.clear();
    input_begin_ = 0;
  }
  return last && r.done;
}

task<void> output_buffer::put_output(file& to) {
  co_await to.write_at(offset_, {output_.data(), output_size_});
  offset_ += output_size_;
  output_size_ = 0;
}

}  // namespace LEAT::detail
