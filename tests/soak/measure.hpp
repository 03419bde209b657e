#pragma once

#include <array>
#include <cstddef>

namespace soak {

/// Bytes of memory that the process occupies, and bytes that its heap has allocated.
struct memory_use {
  double resident = 0;
  double heap = 0;
};
[[nodiscard]] memory_use measure_memory();

[[nodiscard]] std::size_t open_descriptors();

/// Returns true when there are at most `count` threads. A joined thread may be visible slightly
/// longer on busy processors. Waits at most ten seconds.
[[nodiscard]] bool threads_fall_to(std::size_t count);

/// A measure over the time of a run, as the means of a fixed number of time intervals. The memory
/// of a course is therefore constant, and dependent adjacent values count once.
class course {
 public:
  explicit course(double seconds) : length_(seconds / static_cast<double>(points_.size())) {}

  void add(double seconds, double value) noexcept;

  /// A least-squares line: its slope, and the standard error of the slope.
  struct line {
    double per_second = 0;
    double error = 0;
  };
  [[nodiscard]] line fit() const;

  /// Returns by how much the mean of the last quarter exceeds that of the first, as a share of the
  /// first.
  [[nodiscard]] double drift() const;

 private:
  struct point {
    double seconds = 0;
    double value = 0;
    double count = 0;
  };

  std::array<point, 24> points_{};
  double length_;
};

}  // namespace soak
