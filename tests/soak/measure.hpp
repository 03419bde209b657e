#pragma once

#include <array>
#include <cstddef>

namespace soak {

/// Bytes of memory that the process occupies, and those that its heap has given out.
struct memory_use {
  double resident = 0;
  double heap = 0;
};
[[nodiscard]] memory_use measure_memory();

[[nodiscard]] std::size_t open_descriptors();

/// True once there are no more than `count` threads: one that was joined may be seen a moment
/// longer where processors are busy. Waits ten seconds at most.
[[nodiscard]] bool threads_fall_to(std::size_t count);

/// A measure over the time of a run: the means of a fixed number of stretches of it, so that the
/// measuring takes no memory of its own, and neighbours, which depend on each other, count once.
class course {
 public:
  explicit course(double seconds) : length_(seconds / static_cast<double>(points_.size())) {}

  void add(double seconds, double value) noexcept;

  /// A line by least squares: its slope, and the standard error of that.
  struct line {
    double per_second = 0;
    double error = 0;
  };
  [[nodiscard]] line fit() const;

  /// By how much the mean of the last quarter is above that of the first; a share of the first.
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
