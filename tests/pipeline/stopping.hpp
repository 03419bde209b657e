#pragma once

#include <cstddef>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "support/error_of.hpp"

namespace leat_test {

/// Reads a pipeline until `stops` returns true, then asks the task to stop. Returns the number of
/// elements.
template <class Pipeline, class Stops>
std::size_t read_until_stopped(Pipeline& p, Stops stops) {
  std::size_t elements = 0;
  bool cancelled = false;
  leat::block_on([](auto& from, auto& when, std::size_t& count, bool& told) -> leat::task<> {
    leat::task_group group;
    const auto consume = [&]() -> leat::task<> {
      const auto code = co_await code_of(from.for_each([&](const auto&) { ++count; }));
      told = code == leat::errc::cancelled;
    };
    const auto stop = [&]() -> leat::task<> {
      while (!when(count)) co_await leat::this_task::yield();
      group.request_stop();
    };
    group.spawn(consume());
    group.spawn(stop());
    co_await group.join();
  }(p, stops, elements, cancelled));
  CHECK(cancelled);
  return elements;
}

}  // namespace leat_test
