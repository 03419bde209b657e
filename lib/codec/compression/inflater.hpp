#pragma once

#include <cstdint>
#include <memory>

#include "leat/base/bytes.hpp"
#include "leat/codec/compression/decompressor.hpp"

namespace LEAT::detail {

/// Whether the beginning of a file is that of a compression. `incomplete`: not known before
/// compression_sample_size bytes or the end of the file.
enum class sample_match : std::uint8_t { no, incomplete, yes };

/// Creates a decompressor for zlib or gzip.
[[nodiscard]] std::unique_ptr<decompressor> make_inflater(compression format,
                                                          const decompression_options& options);

/// Recognises zlib by its header, the block that follows, and for a small window by inflating.
[[nodiscard]] sample_match match_zlib(byte_view beginning);

}  // namespace LEAT::detail
