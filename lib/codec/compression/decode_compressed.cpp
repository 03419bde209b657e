#include "leat/codec/compression/decode_compressed.hpp"

#include <optional>

#include "codec/record_count_context.hpp"
#include "codec/string_column.hpp"

namespace leat {
namespace {

// Inflates complete streams, one after another.
class one_shot_inflater {
 public:
  one_shot_inflater(compression type, const inflate_options& options) {
    if (type != compression::none) inflater_.emplace(type, options);
  }

  // Valid until the next call.
  std::string_view inflate(std::size_t record, byte_view in) {
    if (!inflater_) return as_text(in);
    inflater_->reset();
    std::size_t size = 0;
    for (;;) {
      if (output_.size() - size < min_output_size)
        output_.resize(output_.size() * 2 + min_output_size);
      const std::span<std::byte> out(reinterpret_cast<std::byte*>(output_.data()) + size,
                                     output_.size() - size);
      const inflate_result r = inflater_->inflate(in, out);
      in = in.subspan(r.consumed);
      size += r.produced;
      if (r.failed()) throw_error(record, r);
      if (r.status == inflate_status::need_input) break;
    }
    if (const inflate_result r = inflater_->finish();
        r.failed() || r.status != inflate_status::complete) {
      throw_error(record, r);
    }
    return std::string_view(output_).substr(0, size);
  }

 private:
  static constexpr std::size_t min_output_size = 4096;

  [[noreturn]] static void throw_error(std::size_t record, const inflate_result& r) {
    throw decode_error(record, ", offset " + std::to_string(r.offset) + ": " + describe(r),
                       code_of(r.status));
  }

  std::optional<inflater> inflater_;
  std::string output_;
};

}  // namespace

tensor decode_compressed(const tensor& strings, compression type, const inflate_options& options) {
  one_shot_inflater inflater(type, options);
  detail::string_column plain;
  plain.reserve(strings.count());
  detail::with_record_count(strings.count(), [&] {
    for (const std::string_view text : strings.strings()) {
      plain.add(inflater.inflate(plain.count(), as_bytes(text)));
    }
  });
  return plain.take(strings.shape());
}

std::string decode_compressed(byte_view bytes, compression type, const inflate_options& options) {
  return std::string(one_shot_inflater(type, options).inflate(0, bytes));
}

}  // namespace leat
