#pragma once

#include <sstream>
#include <string>

#include "leat/async/dump/dump.hpp"

namespace leat_test {

/// Returns the text of a dump.
[[nodiscard]] inline std::string dump(leat::dump_format format = leat::dump_format::text) {
  std::ostringstream out;
  leat::dump(out, format);
  return out.str();
}

}  // namespace leat_test
