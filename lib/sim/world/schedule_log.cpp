#include "sim/world/schedule_log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "base/internal/standard_error.hpp"
#include "base/text/milliseconds_text.hpp"

namespace LEAT::sim {
namespace {

void print_line(std::FILE* to, const std::string& line) {
  if (!to) return;
  if (to == stderr) return leat::detail::write_stderr(line + "\n");
  std::fprintf(to, "%s\n", line.c_str());
}

}  // namespace

void schedule_log::start(const trace_options& options) {
  started_ = true;
  options_ = options;
}

void schedule_log::add(std::uint64_t step, time_point now, const std::string& where,
                       const std::string& what) {
  const std::string time = leat::detail::milliseconds_text(now.time_since_epoch());
  const std::string line =
      "step " + std::to_string(step) + ", " + time + " ms, " + where + ": " + what;
  ++count_;
  print_line(options_.to, line);
  if (options_.ends == 0) return;
  // One line between the two ends replaces all omitted ones.
  const std::size_t ends = std::min(options_.ends, lines_.max_size() / 4);
  if (lines_.size() > 3 * ends) {
    const auto middle = lines_.begin() + static_cast<std::ptrdiff_t>(ends + 1);
    left_out_ += ends;
    if (left_out_ == ends) ++left_out_;  // for the line that this text replaces
    lines_.erase(middle, middle + static_cast<std::ptrdiff_t>(ends));
    lines_[ends] = "(" + std::to_string(left_out_) + " lines left out)";
  }
  lines_.push_back(line);
}

void schedule_log::append(std::uint64_t step, time_point now, const std::string& where,
                          const std::string& what, std::uint64_t line) {
  if (what.empty()) return;
  if (count_ != line) return add(step, now, where, "..." + what);
  print_line(options_.to, "  ..." + what);
  if (options_.ends > 0) lines_.back() += what;
}

}  // namespace LEAT::sim
