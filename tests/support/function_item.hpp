#pragma once

#include <functional>
#include <utility>

#include "leat/async/scheduler/work_item.hpp"

namespace leat_test {

/// A work item that calls a function.
struct function_item : leat::work_item {
  explicit function_item(std::function<void()> f) : function(std::move(f)) {
    run_ = [](leat::work_item& i) noexcept { static_cast<function_item&>(i).function(); };
  }
  std::function<void()> function;
};

}  // namespace leat_test
