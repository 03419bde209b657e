#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "leat/async/loop/sync_wait.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

/// Returns the message of a task's failure, or an empty string if the task succeeds. Checks that
/// the failure has the code `expected`.
template <class T>
std::string error_of(leat::task<T> t, leat::errc expected) {
  try {
    static_cast<void>(leat::sync_wait(std::move(t)));
  } catch (const leat::failure& e) {
    CHECK(e.code() == expected);
    return e.what();
  }
  return {};
}

/// Returns the message of the exception that a call throws, or an empty string.
template <std::invocable Function>
std::string error_of(Function f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

/// Awaits an operation, and returns the message of the `Exception` that it throws, or an empty
/// string. Other exceptions pass through.
template <class Exception = std::exception, class Operation>
leat::task<std::string> message_of(Operation operation) {
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const Exception& e) {
    co_return e.what();
  }
  co_return "";
}

}  // namespace leat_test
