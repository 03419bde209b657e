#pragma once

#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace leat_test {

/// Removes a file from the page cache, so that reads of it do not complete immediately.
inline void evict(const std::string& path) {
  const int f = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(f >= 0);
  ::fsync(f);
  ::posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED);
  ::close(f);
}

}  // namespace leat_test
