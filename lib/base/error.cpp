#include "leat/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <typeinfo>

#include "base/internal/never_destroyed.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT {
namespace {

bool is_posix(const std::error_category& category) noexcept {
  const std::error_category& of_asio = asio::error::get_system_category();
  return category == of_asio || category == std::system_category() ||
         category == std::generic_category() || std::strcmp(category.name(), "asio.system") == 0;
}

// Maps a code of another category to errc; unknown if there is no better match.
errc to_errc(const std::error_code& ec) noexcept {
  if (!ec) return errc{};  // success, in every category
  if (ec.category() == error_category()) return static_cast<errc>(ec.value());
  if (!is_posix(ec.category())) {
    // In a program that uses both flavours, each has a category of its own.
    const bool is_leat = std::strcmp(ec.category().name(), error_category().name()) == 0;
    if (is_leat) return static_cast<errc>(ec.value());
    // A peer that has closed a connection, for example because it restarts.
    const std::error_code eof = asio::error::make_error_code(asio::error::eof);
    if (ec == eof) return errc::unavailable;
    // asio::ssl::error::stream_truncated, the end without a close_notify. Its header needs OpenSSL.
    const bool is_tls = std::strcmp(ec.category().name(), "asio.ssl.stream") == 0;
    return is_tls && ec.value() == 1 ? errc::unavailable : errc::unknown;
  }
  switch (ec.value()) {
    case ECANCELED: return errc::cancelled;
    case EINVAL:
    case ENAMETOOLONG:
    case EBADF: return errc::invalid_argument;
    case ETIMEDOUT: return errc::deadline_exceeded;
    case ENOENT: return errc::not_found;
    case EEXIST: return errc::already_exists;
    case EACCES:
    case EPERM:
    case EROFS: return errc::permission_denied;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EDQUOT:
    case EFBIG: return errc::resource_exhausted;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBUSY:
    case ESPIPE:
    case ELOOP: return errc::failed_precondition;
    case ENOSYS:
    case EOPNOTSUPP: return errc::unimplemented;
    case EAGAIN:
    case EINTR:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ENETRESET: return errc::unavailable;
    case EIO: return errc::data_loss;
    default: return errc::unknown;
  }
}

class category_impl final : public std::error_category {
 public:
  const char* name() const noexcept override { return "leat"; }

  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::cancelled: return "cancelled";
      case errc::unknown: return "unknown error";
      case errc::invalid_argument: return "invalid argument";
      case errc::deadline_exceeded: return "deadline exceeded";
      case errc::not_found: return "not found";
      case errc::already_exists: return "already exists";
      case errc::permission_denied: return "permission denied";
      case errc::resource_exhausted: return "resource exhausted";
      case errc::failed_precondition: return "failed precondition";
      case errc::aborted: return "aborted";
      case errc::out_of_range: return "out of range";
      case errc::unimplemented: return "unimplemented";
      case errc::internal: return "internal error";
      case errc::unavailable: return "unavailable";
      case errc::data_loss: return "data loss";
      case errc::unauthenticated: return "unauthenticated";
    }
    return "unknown error";
  }

  // So that code without leat can compare with std::errc::operation_canceled.
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::cancelled: return std::errc::operation_canceled;
      case errc::invalid_argument: return std::errc::invalid_argument;
      case errc::deadline_exceeded: return std::errc::timed_out;
      case errc::not_found: return std::errc::no_such_file_or_directory;
      case errc::already_exists: return std::errc::file_exists;
      case errc::permission_denied: return std::errc::permission_denied;
      default: return {value, *this};
    }
  }

  bool equivalent(const std::error_code& ec, int condition) const noexcept override {
    return to_errc(ec) == static_cast<errc>(condition);
  }
};

}  // namespace

const std::error_category& error_category() noexcept {
  static detail::never_destroyed<const category_impl> instance;
  return instance.get();
}

#if defined(LEAT_ASIO_BOOST)
const char detail::flavour_boost_asio = 0;
#else
const char detail::flavour_standalone_asio = 0;
#endif

std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

std::error_condition make_error_condition(errc e) noexcept {
  return {static_cast<int>(e), error_category()};
}

namespace {

// Returns the failure inside, or null for any other exception, or if finding out requires a throw.
// A throw costs some 15,000 instructions, and every stopped task ends with one.
const failure* as_failure([[maybe_unused]] const std::exception_ptr& error) noexcept {
#if defined(__GLIBCXX__)
  if (*error.__cxa_exception_type() == typeid(failure)) {
    // libstdc++'s exception_ptr is a pointer to the exception.
    static_assert(sizeof error == sizeof(void*));
    return *reinterpret_cast<const failure* const*>(&error);
  }
#endif
  return nullptr;
}

std::error_code code_of(const std::exception_ptr& error) noexcept {
  if (const failure* const f = as_failure(error)) return f->code();
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    return e.code();
#if defined(LEAT_ASIO_BOOST)
  } catch (const asio_system_error& e) {  // not a std::system_error
    return e.code();
#endif
  } catch (const std::bad_alloc&) {
    return make_error_code(errc::resource_exhausted);
  } catch (...) {
    return make_error_code(errc::unknown);
  }
}

}  // namespace

std::error_code to_error_code(const std::exception_ptr& error) noexcept {
  if (!error) return {};
  const std::error_code ec = code_of(error);
  return ec ? ec : make_error_code(errc::unknown);  // an exception is never a success
}

}  // namespace LEAT
