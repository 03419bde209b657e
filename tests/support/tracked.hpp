#pragma once

#include <utility>

namespace leat_test {

/// Counts of a test's values. A copy counts as a value. A move leaves an object that lives but
/// holds no value.
struct counts {
  int live = 0;     ///< objects that hold a value
  int objects = 0;  ///< objects in all, hollow ones too
  int copies = 0;
  int moves = 0;
};

/// A value that reports its construction, copies, moves and destruction to the counts of its test.
class tracked {
 public:
  tracked(counts& c, int value) noexcept : counts_(&c), value_(value), holds_(true) { born(); }
  tracked(const tracked& o) noexcept : counts_(o.counts_), value_(o.value_), holds_(o.holds_) {
    ++counts_->copies;
    born();
  }
  tracked(tracked&& o) noexcept
      : counts_(o.counts_), value_(o.value_), holds_(std::exchange(o.holds_, false)) {
    ++counts_->moves;
    ++counts_->objects;
  }
  tracked& operator=(tracked o) noexcept {
    std::swap(counts_, o.counts_);
    std::swap(value_, o.value_);
    std::swap(holds_, o.holds_);
    return *this;
  }
  ~tracked() {
    --counts_->objects;
    if (holds_) --counts_->live;
  }

  [[nodiscard]] int value() const noexcept { return value_; }
  /// False after a move from the object.
  [[nodiscard]] bool holds() const noexcept { return holds_; }

  friend bool operator==(const tracked& a, const tracked& b) noexcept {
    return a.holds_ == b.holds_ && a.value_ == b.value_;
  }
  friend bool operator==(const tracked& a, int value) noexcept {
    return a.holds_ && a.value_ == value;
  }

 private:
  void born() noexcept {
    ++counts_->objects;
    if (holds_) ++counts_->live;
  }

  counts* counts_;
  int value_;
  bool holds_;
};

/// A move-only version of `tracked`.
class move_only_tracked : public tracked {
 public:
  using tracked::tracked;
  move_only_tracked(move_only_tracked&&) noexcept = default;
  move_only_tracked& operator=(move_only_tracked&& o) noexcept {
    tracked::operator=(static_cast<tracked&&>(o));
    return *this;
  }
};

}  // namespace leat_test
