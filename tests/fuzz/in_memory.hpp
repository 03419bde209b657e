#pragma once

// Files of fuzz targets, in a simulated world.

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "leat/sim/world/world.hpp"
#include "support/records/slow_readers.hpp"

namespace leat_test {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Returns the size of the pieces for `of` bytes. It is the wanted size, but large enough for at
/// most about fifty pieces: more pieces find no more and take longer.
inline std::size_t piece_size(std::size_t wanted, std::size_t of) { return 1 + wanted + of / 50; }

/// Returns the result of a reader for these bytes as a file.
template <class Reader>
read_outcome read_in_memory(std::string_view bytes, typename Reader::options_type options) {
  leat::sim::world w(1);
  w.files().write_file("/f", bytes);
  read_outcome o;
  w.run([&](leat::sim::world&) -> leat::task<> {
    o = co_await read_outcome_of<Reader>("/f", options);
  });
  return o;
}

}  // namespace leat_test
