#include "leat/io/backend/descriptor_path.hpp"

#include <charconv>
#include <unistd.h>

#include "leat/base/internal/assert.hpp"

namespace LEAT {
namespace {

constexpr std::string_view descriptor_folder = "/dev/fd/";

}  // namespace

std::string descriptor_path(int descriptor) {
  LEAT_ASSERT(descriptor >= 0, "descriptor_path() of a negative number: pass an open descriptor");
  return std::string(descriptor_folder) + std::to_string(descriptor);
}

std::optional<int> detail::descriptor_of_path(std::string_view path) noexcept {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (!path.starts_with(descriptor_folder)) return std::nullopt;
  path.remove_prefix(descriptor_folder.size());
  int number = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  const bool valid = error == std::errc() && end == path.data() + path.size() && number >= 0;
  return valid ? std::optional(number) : std::nullopt;
}

}  // namespace LEAT
