#include "leat/base/error.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <asio/error.hpp>
#include <catch2/catch.hpp>

namespace error_test {

using leat::errc;
using leat::make_error_code;

TEST_CASE("errc: has the codes of TensorFlow's status") {
  CHECK(static_cast<int>(errc::cancelled) == 1);
  CHECK(static_cast<int>(errc::invalid_argument) == 3);
  CHECK(static_cast<int>(errc::aborted) == 10);
  CHECK(static_cast<int>(errc::out_of_range) == 11);
  CHECK(static_cast<int>(errc::data_loss) == 15);
  CHECK(static_cast<int>(errc::unauthenticated) == 16);
}

TEST_CASE("errc: a code has its number, category and message") {
  const std::error_code ec = make_error_code(errc::data_loss);
  CHECK(ec.value() == 15);
  CHECK(std::string(ec.category().name()) == "leat");
  CHECK(ec.message() == "data loss");
}

TEST_CASE("errc: every number has a message of its own") {
  const std::error_category& category = leat::error_category();
  for (int value = 1; value <= 16; ++value) {
    for (int other = 1; other < value; ++other) {
      CHECK(category.message(value) != category.message(other));
    }
  }
  CHECK(category.message(99) == "unknown error");
}

TEST_CASE("errc: a code equals its own condition and no other") {
  for (int code = 1; code <= 16; ++code) {
    for (int condition = 1; condition <= 16; ++condition) {
      const std::error_code ec = make_error_code(static_cast<errc>(code));
      CHECK((ec == static_cast<errc>(condition)) == (code == condition));
    }
  }
}

TEST_CASE("errc: all codes of a cancellation are equal") {
  CHECK(make_error_code(errc::cancelled) == errc::cancelled);
  CHECK(make_error_code(asio::error::operation_aborted) == errc::cancelled);
  CHECK(std::error_code(ECANCELED, std::generic_category()) == errc::cancelled);
  CHECK(std::error_code(ECANCELED, std::system_category()) == errc::cancelled);
}

TEST_CASE("errc: maps codes of the kernel and Asio") {
  const auto kernel = [](int value) { return std::error_code(value, std::system_category()); };
  CHECK(kernel(ENOENT) == errc::not_found);
  CHECK(kernel(EACCES) == errc::permission_denied);
  CHECK(kernel(ENOSPC) == errc::resource_exhausted);
  CHECK(kernel(EIO) == errc::data_loss);
  CHECK(make_error_code(asio::error::timed_out) == errc::deadline_exceeded);
}

TEST_CASE("errc: other failures are not equal to cancelled") {
  CHECK(std::error_code(ENOENT, std::system_category()) != errc::cancelled);
  CHECK(make_error_code(asio::error::eof) == errc::unavailable);
  CHECK(make_error_code(errc::aborted) != errc::cancelled);
}

TEST_CASE("errc: success is not an error") {
  for (int condition = 1; condition <= 16; ++condition) {
    CHECK(std::error_code() != static_cast<errc>(condition));
  }
}

TEST_CASE("errc: is comparable with std::errc") {
  CHECK(leat::make_error_code(errc::cancelled) == std::errc::operation_canceled);
  CHECK(leat::make_error_code(errc::not_found) == std::errc::no_such_file_or_directory);
  CHECK(leat::make_error_code(errc::deadline_exceeded) == std::errc::timed_out);
  CHECK(leat::make_error_code(errc::data_loss) != std::errc::io_error);
  CHECK(leat::make_error_code(errc::cancelled) == errc::cancelled);
}

TEST_CASE("errc: every unknown number is `unknown`") {
  struct foreign_category final : std::error_category {
    const char* name() const noexcept override { return "foreign"; }
    std::string message(int) const override { return "foreign"; }
  };
  static const foreign_category foreign;
  CHECK(std::error_code(ECANCELED, foreign) == errc::unknown);
  CHECK(std::error_code(ECANCELED, foreign) != errc::cancelled);
}

TEST_CASE("failure: returns the message and the text of the code from what()") {
  const leat::failure f(errc::data_loss, "a.tfrecord, record 3 at offset 48");
  CHECK(std::string(f.what()) == "a.tfrecord, record 3 at offset 48: data loss");
  CHECK(f.code() == errc::data_loss);
}

TEST_CASE("failure: keeps a code of another category") {
  const leat::failure f(std::error_code(ENOENT, std::system_category()), "open a.tfrecord");
  CHECK(f.code().category() == std::system_category());
  CHECK(f.code() == errc::not_found);
}

TEST_CASE("to_error_code: maps exceptions to codes") {
  CHECK_FALSE(leat::to_error_code(nullptr));
  const leat::failure f(errc::data_loss, "a.tfrecord");
  CHECK(leat::to_error_code(std::make_exception_ptr(f)) == errc::data_loss);
  CHECK(leat::to_error_code(std::make_exception_ptr(std::bad_alloc())) == errc::resource_exhausted);
  CHECK(leat::to_error_code(std::make_exception_ptr(42)) == errc::unknown);
}

}  // namespace error_test
