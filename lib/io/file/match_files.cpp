#include "leat/io/file/match_files.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <string_view>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/io/file/file.hpp"

namespace leat {
namespace {

bool has_wildcard(std::string_view text) noexcept {
  return text.find_first_of("*?[\\") != std::string_view::npos;
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

// Returns the paths below `directories` that match one component of a pattern. `must_exist`: the
// directories were named without a wildcard, so a missing one is an error.
task<std::vector<std::string>> match_level(std::vector<std::string> directories, std::string part,
                                           bool must_exist) {
  std::vector<std::string> matches;
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
    for (const std::string& name : names) {
      if (::fnmatch(part.c_str(), name.c_str(), FNM_PATHNAME) == 0) {
        matches.push_back(join(directory, name));
      }
    }
  }
  co_return matches;
}

task<std::vector<std::string>> match_one(std::string pattern) {
  const std::vector<std::string> parts = split(pattern);
  std::vector<std::string> paths{pattern.starts_with('/') ? "/" : ""};
  bool fixed = true;  // no wildcard so far
  for (const std::string& part : parts) {
    if (has_wildcard(part)) {
      if (fixed && parts.size() == 1 && paths.front().empty()) paths.front() = ".";
      std::vector<std::string> next = co_await match_level(std::move(paths), part, fixed);
      paths = std::move(next);
      fixed = false;
    } else {
      for (std::string& path : paths) path = join(path, part);
    }
  }
  // The last components may have been appended without a check.
  if (fixed || !has_wildcard(parts.back())) {
    std::vector<std::string> there;
    for (std::string& path : paths) {
      if (co_await exists(path, fixed)) there.push_back(std::move(path));
    }
    paths = std::move(there);
  }
  co_return paths;
}

}  // namespace

task<std::vector<std::string>> match_files(braced<std::vector<std::string>> patterns,
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

}  // namespace leat
