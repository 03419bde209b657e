#pragma once

// Files of fuzz targets: in a simulated world.

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

/// A size for the pieces of so many bytes: as wanted, but no more than about fifty of them, since
/// what there is to find does not need more, and each takes its time.
inline std::size_t piece_size(std::size_t wanted, std::size_t of) { return 1 + wanted + of / 50; }

/// What a reader makes of these bytes as a file.
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
