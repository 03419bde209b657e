#include "leat/codec/compression/decompressor.hpp"

#include <string>
#include <utility>

#include "base/text/hex.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

std::string describe(const decompression_result& r) {
  switch (r.status) {
    case decompression_status::need_input: return "more input is needed";
    case decompression_status::output_full: return "output is full";
    case decompression_status::complete: return "compressed stream is complete";
    case decompression_status::truncated: return "compressed stream is truncated";
    case decompression_status::bad_header:
      return "header of the compressed stream is corrupt, or of another compression";
    case decompression_status::dictionary:
      return "compressed stream needs a dictionary, which is not supported";
    case decompression_status::bad_data: return "compressed data is corrupt";
    case decompression_status::bad_checksum:
      return "checksum of the decompressed data is wrong: expected " + detail::hex(r.expected) +
             ", actual " + detail::hex(r.actual);
    case decompression_status::bad_size:
      return "size of the decompressed data (modulo 2^32) is wrong: expected " +
             std::to_string(r.expected) + ", actual " + std::to_string(r.actual);
    case decompression_status::trailing_data:
      return "other data follows the end of the compressed stream";
    case decompression_status::too_large:
      return "decompressed data is above the limit decompression_options::max_output";
    case decompression_status::too_dense:
      return "decompressed data is more than decompression_options::max_ratio times as large as "
             "the compressed data";
    case decompression_status::too_many_empty:
      return "number of consecutive members without data is above the limit "
             "decompression_options::max_empty_members";
  }
  return "?";
}

errc code_of(decompression_status end) noexcept {
  switch (end) {
    case decompression_status::too_large:
    case decompression_status::too_dense:
    case decompression_status::too_many_empty: return errc::resource_exhausted;
    case decompression_status::dictionary: return errc::unimplemented;
    default: return errc::data_loss;
  }
}

void decompression_options::check(std::string_view owner) const {
  for (const auto& [name, limit] : {std::pair("max_empty_members", max_empty_members),
                                    {"max_ratio", max_ratio},
                                    {"max_output", max_output}}) {
    if (limit > 0) continue;
    throw failure(errc::invalid_argument, std::string(owner) + ": decompression_options::" + name +
                                              " is 0, must be 1 or more");
  }
}

}  // namespace LEAT
