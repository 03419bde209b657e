#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace leat::detail {

/// A place between two elements of a stage: so many elements into a run.
struct run_place {
  std::uint64_t run = 0;
  std::uint64_t element = 0;
};

/// A run of the stage before, and how much of it was taken.
template <class Run>
class input_run {
 public:
  using value_type = typename Run::value_type;
  using taken_element =
      std::conditional_t<std::is_same_v<decltype(*std::declval<Run&>().begin()), value_type&>,
                         value_type&&, value_type>;

  [[nodiscard]] std::size_t left() const noexcept { return run_.size() - taken_; }

  /// The next element: where it stands in the run, to be moved from there, or by value where the
  /// run makes it. Precondition: one is left.
  [[nodiscard]] taken_element take() {
    return static_cast<taken_element>(*(run_.begin() + static_cast<std::ptrdiff_t>(taken_++)));
  }

  /// The run itself.
  [[nodiscard]] const Run& run() const noexcept { return run_; }
  /// How many elements of the run were taken.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  /// The number of the run that comes next, or is coming.
  [[nodiscard]] std::uint64_t coming() const noexcept { return runs_; }

  /// Where the next run is to be put; none of this one is left then, and none of that yet.
  [[nodiscard]] Run& renew() noexcept {
    taken_ = 0;
    renewing_ = true;
    return run_;
  }

  /// The next run is there.
  void renewed() noexcept {
    ++runs_;
    renewing_ = false;
  }

  /// There is none.
  void clear() noexcept {
    renew().clear();
    renewing_ = false;
  }

  /// Where the next element stands in the stage before.
  [[nodiscard]] run_place next() const noexcept {
    if (renewing_ || left() == 0) return {runs_, 0};
    return {runs_ - 1, taken_};
  }

  /// Begins anew.
  void restart() noexcept {
    clear();
    runs_ = 0;
  }

 private:
  Run run_;
  std::size_t taken_ = 0;
  bool renewing_ = false;
  std::uint64_t runs_ = 0;  // that were there
};

}  // namespace leat::detail
