#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

/// Returns the message of a task's failure, or an empty string if the task succeeds. Checks that
/// the failure has the code `expected`.
template <class T>
std::string error_of(leat::task<T> t, leat::errc expected) {
  try {
    static_cast<void>(leat::block_on(std::move(t)));
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

/// Returns the message of an exception, or an empty string if there is none.
inline std::string error_of(const std::exception_ptr& error) {
  return error_of([&] {
    if (error) std::rethrow_exception(error);
  });
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

/// Like the other message_of(). Checks that the failure has the code `expected`.
template <class Operation>
leat::task<std::string> message_of(Operation operation, leat::errc expected) {
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const leat::failure& e) {
    CHECK(e.code() == expected);
    co_return e.what();
  }
  co_return "";
}

/// Returns the code of the failure that a call throws, or no error.
template <std::invocable Call>
std::error_code code_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const leat::failure& e) {
    return e.code();
  }
  return {};
}

/// Awaits an operation, and returns the code of the failure that it throws, or no error. Await it
/// in the expression that makes the operation.
template <class Operation>
  requires(!std::invocable<Operation>)
leat::task<std::error_code> code_of(Operation&& operation) {
  try {
    static_cast<void>(co_await std::forward<Operation>(operation));
  } catch (const leat::failure& e) {
    co_return e.code();
  }
  co_return std::error_code();
}

/// Awaits an operation like code_of(), and returns true if it throws an `Exception`. Other
/// exceptions pass through.
template <class Exception, class Operation>
leat::task<bool> throws(Operation&& operation) {
  try {
    static_cast<void>(co_await std::forward<Operation>(operation));
  } catch (const Exception&) {
    co_return true;
  }
  co_return false;
}

}  // namespace leat_test
