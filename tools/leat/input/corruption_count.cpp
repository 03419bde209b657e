#include "input/corruption_count.hpp"

#include <fmt/format.h>

#include "input/paths.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

namespace tool {

bool corruption_count::add(const leat::corruption_report& r) noexcept {
  if (r.transient) return false;
  ++regions;
  bytes += r.skipped;
  return true;
}

report_function make_corruption_reporter(corruption_count& sum) {
  return [&sum](const leat::corruption_report& r) {
    if (!sum.add(r)) return;
    print_error(fmt::format("{}, record {} at offset {}: {} ({} skipped)", display_path(r.path),
                            r.index, r.offset, r.what, size_text(r.skipped)));
  };
}

}  // namespace tool
