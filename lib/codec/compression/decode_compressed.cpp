#include "leat/codec/compression/decode_compressed.hpp"

#include <optional>

#include "codec/record_count_context.hpp"
#include "codec/string_column.hpp"

namespace leat {
namespace {

// Inflates whole streams, one after the other.
class whole_inflater {
 public:
  whole_inflater(compression type, const inflate_options& options) {
    if (type != compression::none) inflater_.emplace(type, options);
  }

  // Valid until the next call.
  std::string_view inflate(std::size_t record, byte_view in) {
    if (!inflater_) return as_text(in);
    inflater_->reset();
    std::size_t size = 0;
    for (;;) {
      if (room_.size() - size < least_room) room_.resize(room_.size() * 2 + least_room);
      const std::span<std::byte> out(reinterpret_cast<std::byte*>(room_.data()) + size,
                                     room_.size() - size);
      const inflate_result r = inflater_->inflate(in, out);
      in = in.subspan(r.consumed);
      size += r.produced;
      if (r.failed()) refuse(record, r);
      if (r.end == inflate_end::need_input) break;
    }
    if (const inflate_result r = inflater_->finish();
        r.failed() || r.end != inflate_end::complete) {
      refuse(record, r);
    }
    return std::string_view(room_).substr(0, size);
  }

 private:
  static constexpr std::size_t least_room = 4096;

  [[noreturn]] static void refuse(std::size_t record, const inflate_result& r) {
    throw decode_error(record, ", offset " + std::to_string(r.offset) + ": " + describe(r),
                       code_of(r.end));
  }

  std::optional<inflater> inflater_;
  std::string room_;
};

}  // namespace

tensor decode_compressed(const tensor& strings, compression type, const inflate_options& options) {
  whole_inflater inflater(type, options);
  detail::string_column plain;
  plain.reserve(strings.count());
  detail::of_call(strings.count(), [&] {
    for (const std::string_view text : strings.strings()) {
      plain.add(inflater.inflate(plain.count(), as_bytes(text)));
    }
  });
  return plain.take(strings.shape());
}

std::string decode_compressed(byte_view bytes, compression type, const inflate_options& options) {
  return std::string(whole_inflater(type, options).inflate(0, bytes));
}

}  // namespace leat
