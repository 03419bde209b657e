#include "leat/io/file/match_files.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <locale.h>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/utf8.hpp"
#include "leat/base/error.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT {
namespace {

constexpr std::string_view special = "*?[\\";

// Returns the name that a component of a pattern stands for, or nothing if it has wildcards.
std::optional<std::string> plain_name(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escaped = part[i] == '\\' && i + 1 < part.size();
    if (escaped) ++i;
    if (!escaped && special.find(part[i]) != std::string_view::npos) return {};
    name += part[i];
  }
  return name;
}

std::string join(const std::string& directory, const std::string& name) {
  return directory.empty() || directory.back() == '/' ? directory + name : directory + "/" + name;
}

std::vector<std::string> split(const std::string& pattern) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t slash = std::min(pattern.find('/', at), pattern.size());
    if (slash > at) parts.push_back(pattern.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

// `named`: the caller named the complete path without wildcards.
task<bool> exists(const std::string& path, bool named) {
  try {
    co_await get_status(path);
    co_return true;
  } catch (const failure& e) {
    if (e.code() == errc::not_found || e.code() == errc::failed_precondition) co_return false;
    if (!named && e.code() == errc::permission_denied) co_return false;
    throw;
  }
}

// An existing name is not a pattern. A backslash always makes it one, so that escape_pattern()
// does not depend on the files that exist.
bool is_name_of_one(const std::vector<std::string>& sorted_names, const std::string& part) {
  return part.find('\\') == std::string::npos &&
         std::binary_search(sorted_names.begin(), sorted_names.end(), part);
}

// Sets the locale of the thread, and restores it at the end.
class thread_locale {
 public:
  explicit thread_locale(locale_t l) noexcept : before_(::uselocale(l)) {}
  thread_locale(const thread_locale&) = delete;
  thread_locale& operator=(const thread_locale&) = delete;
  ~thread_locale() { ::uselocale(before_); }

 private:
  locale_t before_;
};

// The bytes of a character of UTF-8.
std::string_view first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  return text.substr(0, first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4);
}

using characters = std::vector<std::string_view>;

void add_long_characters(std::string_view text, characters& to) {
  while (!text.empty()) {
    const std::string_view c = first_character(text);
    if (c.size() > 1) to.push_back(c);
    text.remove_prefix(c.size());
  }
}

std::string with_short_characters(std::string_view text, const characters& sorted_long) {
  std::string result;
  while (!text.empty()) {
    const std::string_view c = first_character(text);
    const auto at = std::lower_bound(sorted_long.begin(), sorted_long.end(), c);
    result += c.size() == 1 ? c.front() : static_cast<char>(0x80 + (at - sorted_long.begin()));
    text.remove_prefix(c.size());
  }
  return result;
}

// fnmatch() in a locale of UTF-8 matches bytes too: in glibc 2.36, two "?" match one character of
// two bytes. So each character of several bytes becomes one byte, in an equal order for ranges.
bool matches(std::string pattern, std::string name) {
  constexpr std::size_t most = 128;  // bytes that are not ASCII
  if (detail::is_utf8(pattern) && detail::is_utf8(name)) {
    characters all;
    add_long_characters(pattern, all);
    add_long_characters(name, all);
    std::sort(all.begin(), all.end());  // of bytes and of characters
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (!all.empty() && all.size() <= most) {
      std::string short_pattern = with_short_characters(pattern, all);
      std::string short_name = with_short_characters(name, all);
      pattern = std::move(short_pattern);
      name = std::move(short_name);
    }
  }
  static const locale_t bytes = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const thread_locale here(bytes);
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
}

// Returns the paths below `directories` that match one component of a pattern. `must_exist`: the
// directories were named without a wildcard, so a missing one is an error. `whole`: the component
// is the whole pattern.
task<std::vector<std::string>> match_level(std::vector<std::string> directories, std::string part,
                                           bool must_exist, bool whole) {
  std::vector<std::string> found;
  for (const std::string& directory : directories) {
    std::vector<std::string> names;
    try {
      std::string listed = directory;  // g++ 12 destroys a conditional temporary twice here
      if (listed.empty()) listed = ".";
      names = co_await list_directory(std::move(listed));
    } catch (const failure& e) {
      const bool gone = e.code() == errc::not_found && !must_exist;
      const bool no_directory = e.code() == errc::failed_precondition;
      const bool not_for_us = e.code() == errc::permission_denied;
      if (!gone && !no_directory && !not_for_us) throw;
      continue;
    }
    if (is_name_of_one(names, part)) {
      found.push_back(join(directory, part));
      continue;
    }
    const std::string parent = whole ? "./" : directory;
    for (const std::string& name : names) {
      if (matches(part, name)) found.push_back(join(parent, name));
    }
  }
  co_return found;
}

// Extends `paths` by one component of the pattern after another. A component without wildcards is
// appended without a look at the file system, so its directory need not be readable. If the last
// component has no wildcard, the paths are checked for existence at the end.
task<std::vector<std::string>> match_one(std::string pattern) {
  const std::vector<std::string> parts = split(pattern);
  std::vector<std::string> paths{pattern.starts_with('/') ? "/" : ""};
  bool fixed = true;     // no wildcard so far
  bool checked = false;  // all paths exist
  for (const std::string& part : parts) {
    const std::optional<std::string> name = plain_name(part);
    checked = !name;
    if (name) {
      for (std::string& path : paths) path = join(path, *name);
    } else {
      const bool whole = parts.size() == 1 && paths.front().empty();
      std::vector<std::string> next = co_await match_level(std::move(paths), part, fixed, whole);
      paths = std::move(next);
      fixed = false;
    }
  }
  if (!checked) {
    std::vector<std::string> there;
    for (std::string& path : paths) {
      if (co_await exists(path, fixed)) there.push_back(std::move(path));
    }
    paths = std::move(there);
  }
  co_return paths;
}

}  // namespace

std::string escape_pattern(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (special.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

task<std::vector<std::string>> match_files(option_list<std::string> patterns,
                                           match_options options) {
  std::vector<std::string> all;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) continue;
    std::vector<std::string> paths = co_await match_one(pattern);
    for (std::string& path : paths) all.push_back(std::move(path));
  }
  std::sort(all.begin(), all.end());
  if (options.unique) all.erase(std::unique(all.begin(), all.end()), all.end());
  if (options.regular_only) {
    std::vector<std::string> regular;
    for (std::string& path : all) {
      try {
        if ((co_await get_status(path)).is_regular) regular.push_back(std::move(path));
      } catch (const failure& e) {
        // Removed in the meantime, or a link to nowhere, to itself, or to a directory that must not
        // be read.
        const bool none = e.code() == errc::not_found || e.code() == errc::failed_precondition ||
                          e.code() == errc::permission_denied;
        if (!none) throw;
      }
    }
    all = std::move(regular);
  }
  co_return all;
}

}  // namespace LEAT
