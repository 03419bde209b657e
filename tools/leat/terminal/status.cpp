#include "terminal/status.hpp"

#include <array>
#include <new>
#include <string_view>

#include <leat/base/error.hpp>

namespace tool {
namespace {

using leat::errc;

struct named {
  errc code;
  std::string_view name;
};

constexpr std::array<named, 16> names{{
    {errc::cancelled, "cancelled"},
    {errc::unknown, "unknown"},
    {errc::invalid_argument, "invalid_argument"},
    {errc::deadline_exceeded, "deadline_exceeded"},
    {errc::not_found, "not_found"},
    {errc::already_exists, "already_exists"},
    {errc::permission_denied, "permission_denied"},
    {errc::resource_exhausted, "resource_exhausted"},
    {errc::failed_precondition, "failed_precondition"},
    {errc::aborted, "aborted"},
    {errc::out_of_range, "out_of_range"},
    {errc::unimplemented, "unimplemented"},
    {errc::internal, "internal"},
    {errc::unavailable, "unavailable"},
    {errc::data_loss, "data_loss"},
    {errc::unauthenticated, "unauthenticated"},
}};

// An error of leat concerns the contents or the kind of a file. An error of the system means that
// the file could not be read or written. An error in the command line is a usage_error.
status to_status(const std::error_code& code) noexcept {
  if (code.category() != leat::error_category()) return status::io;
  switch (static_cast<errc>(code.value())) {
    case errc::data_loss:
    case errc::invalid_argument:
    case errc::resource_exhausted:
    case errc::out_of_range:
    case errc::unimplemented:
    case errc::failed_precondition:
    case errc::aborted: return status::data;
    default: return status::io;
  }
}

}  // namespace

std::string name_of(const std::error_code& code) {
  for (const named& n : names) {
    if (code == n.code) return std::string(n.name);
  }
  return "unknown";
}

std::string message_of(const std::system_error& e) {
  std::string text = e.what();
  const std::string code = ": " + e.code().message();
  if (text.ends_with(code)) text.resize(text.size() - code.size());
  return text;
}

problem describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    return {to_status(e.code()), name_of(e.code()), e.what()};
  } catch (const usage_error& e) {
    return {status::usage, "invalid_argument", e.what()};
  } catch (const std::bad_alloc&) {
    return {status::io, "resource_exhausted", "out of memory"};
  } catch (const std::exception& e) {
    return {status::io, "unknown", e.what()};
  }
}

}  // namespace tool
