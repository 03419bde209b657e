#include "soak/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <malloc.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace soak {

memory_use measure_memory() {
  ::malloc_trim(0);  // cached memory must not count
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  const struct mallinfo2 heap = ::mallinfo2();
  return {resident * static_cast<double>(::sysconf(_SC_PAGESIZE)),
          static_cast<double>(heap.uordblks + heap.hblkhd)};
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin, {})) - 1;  // without the directory's own
}

bool threads_fall_to(std::size_t count) {
  for (int i = 0; i < 10'000; ++i) {
    const std::filesystem::directory_iterator begin("/proc/self/task");
    if (std::distance(begin, {}) <= static_cast<std::ptrdiff_t>(count)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void course::add(double seconds, double value) noexcept {
  const auto at = static_cast<std::size_t>(std::max(seconds, 0.0) / length_);
  point& p = points_[std::min(at, points_.size() - 1)];
  p.seconds += seconds;
  p.value += value;
  ++p.count;
}

course::line course::fit() const {
  double n = 0;
  double middle = 0;
  double mean = 0;
  for (const point& p : points_) {
    if (p.count == 0) continue;
    ++n;
    middle += p.seconds / p.count;
    mean += p.value / p.count;
  }
  if (n < 4) return {};
  middle /= n;
  mean /= n;
  double spread = 0;
  double slope = 0;
  for (const point& p : points_) {
    if (p.count == 0) continue;
    const double off = p.seconds / p.count - middle;
    spread += off * off;
    slope += off * (p.value / p.count - mean);
  }
  slope /= spread;
  double rest = 0;
  for (const point& p : points_) {
    if (p.count == 0) continue;
    const double off = p.value / p.count - mean - slope * (p.seconds / p.count - middle);
    rest += off * off;
  }
  return {slope, std::sqrt(rest / (n - 2) / spread)};
}

double course::drift() const {
  point first;
  point last;
  for (std::size_t i = 0; i < points_.size() / 4; ++i) {
    first.value += points_[i].value;
    first.count += points_[i].count;
    last.value += points_[points_.size() - 1 - i].value;
    last.count += points_[points_.size() - 1 - i].count;
  }
  if (first.count == 0 || last.count == 0) return 0;
  return last.value / last.count / (first.value / first.count) - 1;
}

}  // namespace soak
