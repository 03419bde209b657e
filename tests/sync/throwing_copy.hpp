#pragma once

#include <exception>

namespace leat_test {

struct copy_failed : std::exception {};

/// A value whose next copies throw. Moves do not.
struct throwing_copy {
  explicit throwing_copy(int n = 0) noexcept : number(n) {}
  throwing_copy(const throwing_copy& o) : number(o.number) { may_throw(); }
  throwing_copy(throwing_copy&&) noexcept = default;
  throwing_copy& operator=(const throwing_copy& o) {
    may_throw();
    number = o.number;
    return *this;
  }
  throwing_copy& operator=(throwing_copy&&) noexcept = default;

  static void may_throw() {
    if (failures == 0) return;
    --failures;
    throw copy_failed();
  }

  int number;
  static inline int failures = 0;  ///< the number of copies from now on that throw
};

}  // namespace leat_test
