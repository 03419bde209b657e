#pragma once

// The Asio with which leat is compiled. Apart from this header and flavour.hpp, the library
// distinguishes the two only where it catches Asio's exception (lib/base/error.cpp) and where it
// names Asio's signal handler (lib/async/loop/signal_set_counts.hpp). Inside of namespace leat, the
// name `asio` is the alias below.

#include <concepts>
#include <system_error>

#include "leat/base/flavour.hpp"

#if !defined(LEAT_ASIO_BOOST)

/// The name of a header of Asio: `#include LEAT_ASIO(post.hpp)`.
#define LEAT_ASIO(header) <asio/header>
/// The namespace of Asio, for declarations in it: an alias cannot be reopened.
#define LEAT_NAMESPACE_OF_ASIO asio
/// The version of Asio, 102201 for 1.22.1. Needs LEAT_ASIO(version.hpp).
#define LEAT_ASIO_VERSION ASIO_VERSION

#else

#include <boost/version.hpp>
#if BOOST_VERSION < 108100
#error "leat: this Boost is too old: install 1.81 or later (Debian: libboost1.81-dev)"
#endif
#include <boost/system/error_code.hpp>
#include <boost/system/is_error_code_enum.hpp>
#include <boost/system/system_error.hpp>

#define LEAT_ASIO(header) <boost/asio/header>
#define LEAT_NAMESPACE_OF_ASIO boost::asio
#define LEAT_ASIO_VERSION BOOST_ASIO_VERSION

#endif

namespace LEAT_NAMESPACE_OF_ASIO {}

namespace LEAT {

/// The Asio of this build: `leat::asio::steady_timer` in both flavours.
namespace asio = ::LEAT_NAMESPACE_OF_ASIO;

#if !defined(LEAT_ASIO_BOOST)

/// The error that Asio's operations report: std::error_code, or boost::system::error_code with
/// Boost.Asio, whose completion tokens treat no other type as an error. Converts to
/// std::error_code.
using asio_error_code = std::error_code;
/// The exception that Asio throws. With Boost.Asio it is boost::system::system_error, which is not
/// a std::system_error.
using asio_system_error = std::system_error;

/// Returns the code as Asio reports it. With Boost.Asio, a code of the operating system gets the
/// category of Boost, which does not recognise that of the standard library: otherwise
/// `ec == asio::error::connection_reset` would be false.
///
/// Thread safety: thread-safe.
[[nodiscard]] inline std::error_code to_asio_error(const std::error_code& ec) noexcept {
  return ec;
}

#else

/// The error that Asio's operations report.
using asio_error_code = boost::system::error_code;
/// The exception that Asio throws.
using asio_system_error = boost::system::system_error;

/// Returns the code as Asio reports it.
[[nodiscard]] inline asio_error_code to_asio_error(const std::error_code& ec) noexcept {
  if (!ec) return {};
  if (ec.category() == std::system_category()) {
    return {ec.value(), boost::system::system_category()};
  }
  if (ec.category() == std::generic_category()) {
    return {ec.value(), boost::system::generic_category()};
  }
  return ec;
}

#endif

}  // namespace LEAT

#if defined(LEAT_ASIO_BOOST)
namespace boost::asio::error {

/// Compares `failure.code() == asio::error::eof`. Boost compares its enumerations only with its own
/// codes.
template <std::same_as<std::error_code> Code, class E>
  requires(boost::system::is_error_code_enum<E>::value)
[[nodiscard]] bool operator==(const Code& ec, E e) noexcept {
  return ec == boost::system::error_code(e);
}

}  // namespace boost::asio::error

namespace boost::asio::ssl::error {

using boost::asio::error::operator==;  // asio::ssl::error::stream_truncated

}  // namespace boost::asio::ssl::error
#endif
