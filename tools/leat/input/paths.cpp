#include "input/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <leat/async/loop/block_on.hpp>
#include <leat/base/error.hpp>
#include <leat/io/file/match_files.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

namespace tool {
namespace {

constexpr const char* standard_input = "/dev/stdin";

bool exists(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(name, ignored);
}

// A file may have such a name, too.
bool is_pattern(const std::string& name) {
  return name.find_first_of("*?[\\") != std::string::npos && !exists(name);
}

std::vector<std::string> expand_pattern(const std::string& pattern) {
  leat::match_options options;
  options.regular_only = true;
  std::vector<std::string> matches = leat::block_on(leat::match_files({pattern}, options));
  if (!matches.empty()) return matches;
  throw leat::failure(leat::errc::not_found, pattern + ": no file matches this pattern");
}

}  // namespace

std::vector<std::string> expand_paths(const std::vector<std::string>& names) {
  if (names.empty()) return {resolve_path("-")};
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (is_pattern(name)) {
      std::ranges::move(expand_pattern(name), std::back_inserter(paths));
    } else {
      paths.push_back(resolve_path(name));
    }
  }
  return leat::block_on(leat::exclude_tfrecord_indexes(std::move(paths)));
}

std::string prefer_name(std::string pattern) {
  const bool is_name = pattern.find('\\') != std::string::npos && exists(pattern);
  return is_name ? leat::escape_pattern(pattern) : pattern;
}

std::string resolve_path(std::string name) {
  if (name != "-") return name;
  // Now rather than when it is read: main() has replaced a closed one, which cannot be read either.
  const int flags = ::fcntl(STDIN_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) {
    throw std::system_error(EBADF, std::generic_category(), "standard input: cannot read");
  }
  return standard_input;
}

bool is_standard_input(std::string_view path) { return path == standard_input; }

std::string display_path(std::string_view path) {
  return std::string(is_standard_input(path) ? "-" : path);
}

std::string with_display_path(std::string message) {
  const std::size_t end = std::string_view(standard_input).size();
  const bool is_one = message.starts_with(standard_input) && message.find_first_of(":,") == end;
  return is_one ? display_path(standard_input) + message.substr(end) : message;
}

}  // namespace tool
