#pragma once

#include <memory>
#include <string>

#include "model/atomic.hpp"
#include "model/system.hpp"

namespace model {

/// The threads of one schedule and their data. Each schedule makes a new program.
class program {
 public:
  virtual ~program() = default;
  /// Runs thread `index`, from 0.
  virtual void thread(unsigned index) = 0;
  /// Runs after all threads have ended.
  virtual void finish() {}
};

/// A named program and the way to explore it. main() runs the objects of static storage in link
/// order.
struct test {
  enum class search {
    random,   ///< as many random schedules as asked for
    bounded,  ///< all schedules with at most two pre-emptions of a thread, then random ones
  };
  using maker = std::unique_ptr<program> (*)();

  test(std::string name, unsigned threads, maker make, search how = search::random);

  std::string name;
  unsigned threads;
  maker make;
  search how;
};

template <class Program>
std::unique_ptr<program> make() {
  return std::make_unique<Program>();
}

/// Makes a program under one model of the one-sided fence.
template <class Program, fence_model used>
std::unique_ptr<program> make_under() {
  fences = used;
  return make<Program>();
}

/// A program under both models of the one-sided fence.
template <class Program>
struct fenced_test {
  explicit fenced_test(const std::string& name, unsigned threads,
                       test::search how = test::search::random)
      : two_fences(name, threads, make_under<Program, fence_model::two_fences>, how),
        system_wide(name + ", system-wide fence", threads,
                    make_under<Program, fence_model::system_wide>, how) {}

  test two_fences;
  test system_wide;
};

/// Fails the schedule unless `holds`. Relacy then runs it again and prints its history.
inline void require(bool holds, const char* sentence, place at = place::current()) {
  if (!holds) rl::ctx().fail_test(sentence, rl::test_result_user_assert_failed, info(at));
}

/// Data that a lock or queue must order. Relacy reports accesses that nothing orders.
template <class T>
class guarded {
 public:
  guarded(T value = {}, place at = place::current()) { set(value, at); }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;

  [[nodiscard]] T get(place at = place::current()) const { return value_(info(at)).load(); }
  void set(T value, place at = place::current()) { value_(info(at)).store(value); }

 private:
  rl::var<T> value_;
};

}  // namespace model
