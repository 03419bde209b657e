#include "leat/codec/compression/decode_compressed.hpp"

#include <memory>

#include "codec/record_count_context.hpp"
#include "codec/string_column.hpp"

namespace LEAT {
namespace {

// Decompresses complete streams, one after another.
class one_shot_decompressor {
 public:
  one_shot_decompressor(compression type, const decompression_options& options) {
    if (type != compression::none) decoder_ = make_decompressor(type, options);
  }

  // Valid until the next call.
  std::string_view decompress(std::size_t record, byte_view in) {
    if (!decoder_) return as_text(in);
    decoder_->restart();
    std::size_t size = 0;
    for (;;) {
      if (output_.size() - size < min_output_size)
        output_.resize(output_.size() * 2 + min_output_size);
      const std::span<std::byte> out(reinterpret_cast<std::byte*>(output_.data()) + size,
                                     output_.size() - size);
      const decompression_result r = decoder_->decompress(in, out);
      in = in.subspan(r.consumed);
      size += r.produced;
      if (r.failed()) throw_error(record, r);
      if (r.status == decompression_status::need_input) break;
    }
    if (const decompression_result r = decoder_->finish();
        r.failed() || r.status != decompression_status::complete) {
      throw_error(record, r);
    }
    return std::string_view(output_).substr(0, size);
  }

 private:
  static constexpr std::size_t min_output_size = 4096;

  [[noreturn]] static void throw_error(std::size_t record, const decompression_result& r) {
    throw decode_error(record, ", offset " + std::to_string(r.offset) + ": " + describe(r),
                       code_of(r.status));
  }

  std::unique_ptr<decompressor> decoder_;
  std::string output_;
};

}  // namespace

tensor decode_compressed(const tensor& strings, compression type,
                         const decompression_options& options) {
  one_shot_decompressor decoder(type, options);
  detail::string_column plain;
  plain.reserve(strings.count());
  detail::with_record_count(strings.count(), [&] {
    for (const std::string_view text : strings.strings()) {
      plain.add(decoder.decompress(plain.count(), as_bytes(text)));
    }
  });
  return plain.take(strings.shape());
}

std::string decode_compressed(byte_view bytes, compression type,
                              const decompression_options& options) {
  return std::string(one_shot_decompressor(type, options).decompress(0, bytes));
}

}  // namespace LEAT
