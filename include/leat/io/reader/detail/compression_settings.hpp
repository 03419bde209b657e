#pragma once

#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Calls `add` with the name and the value of the option for the compression of a file. Saved
/// states have this name, and those below.
template <class Options, class Add>
void add_compression(const Options& o, Add& add) {
  add("compression", o.compression ? 1 + std::uint64_t(*o.compression) : 0);
}

/// Calls `add` with the name and the value of each limit for a compressed file.
template <class Options, class Add>
void add_compression_limits(const Options& o, Add& add) {
  add("inflate.max_output", o.decompression.max_output);
  add("inflate.max_ratio", o.decompression.max_ratio);
  add("inflate.free_output", o.decompression.free_output);
}

}  // namespace LEAT::detail
