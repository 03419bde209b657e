#include "codec/compression/raw_inflater.hpp"

#include <algorithm>
#include <cstring>

namespace LEAT::detail {

void raw_inflater::begin(compression format) noexcept {
  // A corrupt stream may use entries of its tables that no code has set, and copy bytes from its
  // history that it never wrote. Both must be empty, not left over from another stream. The history
  // is most of the engine. Members of a gzip file may have no output, so only the part that the
  // last stream can have written is cleared.
  constexpr std::size_t beyond = 4096;  // more than the engine writes beyond its output
  if (begun_ && ended_ && written_ < sizeof engine_.tmp_out_buffer - beyond) {
    auto* const begin = reinterpret_cast<std::byte*>(&engine_);
    auto* const history = reinterpret_cast<std::byte*>(engine_.tmp_out_buffer);
    std::byte* const behind = history + sizeof engine_.tmp_out_buffer;
    std::fill(begin, history + written_ + beyond, std::byte());
    std::fill(behind, begin + sizeof engine_, std::byte());
  } else {
    std::memset(&engine_, 0, sizeof engine_);
  }
  ::isal_inflate_init(&engine_);
  engine_.crc_flag = format == compression::zlib ? ISAL_ZLIB_NO_HDR : ISAL_GZIP_NO_HDR;
  begun_ = true;
  ended_ = false;
  written_ = 0;
  forget();
}

// A corrupt stream may copy the previous contents of the output. They must not be exposed. Output
// that continues where the last run stopped was already cleared.
void raw_inflater::clear(std::span<std::byte> out) noexcept {
  std::byte* const end = out.data() + out.size();
  const bool goes_on = out.data() == next_out_;
  std::byte* const from = goes_on ? std::min(end, out_end_) : out.data();
  std::fill(from, end, std::byte());
  out_end_ = goes_on ? std::max(end, out_end_) : end;
}

raw_inflater::step raw_inflater::run(byte_view in, std::span<std::byte> out) noexcept {
  in = in.first(std::min(in.size(), largest_span));
  out = out.first(std::min(out.size(), largest_span));
  clear(out);
  auto* const next_in =
      reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data()));  // it is only read
  engine_.next_in = next_in;
  engine_.avail_in = static_cast<std::uint32_t>(in.size());
  engine_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  engine_.avail_out = static_cast<std::uint32_t>(out.size());
  step result;
  result.bad = ::isal_inflate(&engine_) < 0;
  result.produced = out.size() - engine_.avail_out;
  next_out_ = out.data() + result.produced;
  written_ += result.produced;
  result.ended = !result.bad && engine_.block_state == ISAL_BLOCK_FINISH;
  ended_ = result.ended;
  std::ptrdiff_t consumed = engine_.next_in - next_in;
  if (result.ended) {
    // Newer versions have already gone back, even before the beginning of this input.
    consumed -= static_cast<std::ptrdiff_t>(unread());
    after_end_ = consumed < 0 ? static_cast<std::size_t>(-consumed) : 0;
    std::move(last_.begin() + static_cast<std::ptrdiff_t>(last_size_ - after_end_),
              last_.begin() + static_cast<std::ptrdiff_t>(last_size_), last_.begin());
    consumed = std::max<std::ptrdiff_t>(consumed, 0);
  } else {
    remember(in.first(static_cast<std::size_t>(consumed)));
  }
  result.consumed = static_cast<std::size_t>(consumed);
  return result;
}

void raw_inflater::remember(byte_view consumed) noexcept {
  consumed = consumed.last(std::min(consumed.size(), max_unread));
  const std::size_t kept = std::min(last_size_, max_unread - consumed.size());
  std::move(last_.begin() + static_cast<std::ptrdiff_t>(last_size_ - kept),
            last_.begin() + static_cast<std::ptrdiff_t>(last_size_), last_.begin());
  std::copy(consumed.begin(), consumed.end(), last_.begin() + static_cast<std::ptrdiff_t>(kept));
  last_size_ = kept + consumed.size();
}

}  // namespace LEAT::detail
