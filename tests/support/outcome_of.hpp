#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

/// The code and message of a failure. Both are empty after a success.
struct outcome {
  leat::errc code = {};
  std::string text = {};
};

[[nodiscard]] inline outcome outcome_of(const leat::failure& e) {
  for (int code = 1; code <= 16; ++code) {
    if (e.code() == static_cast<leat::errc>(code)) {
      return {static_cast<leat::errc>(code), e.what()};
    }
  }
  return {{}, e.what()};
}

/// Returns the outcome of a call.
template <std::invocable Call>
outcome outcome_of(Call call) {
  try {
    call();
  } catch (const leat::failure& e) {
    return outcome_of(e);
  }
  return {};
}

/// Returns the outcome of a task.
inline leat::task<outcome> outcome_of(leat::task<void> t) {
  outcome o;
  try {
    co_await std::move(t);
  } catch (const leat::failure& e) {
    o = outcome_of(e);
  }
  co_return o;
}

}  // namespace leat_test
