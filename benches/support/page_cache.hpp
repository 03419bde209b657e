#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "support/bench.hpp"

namespace bench {

/// Returns `path`, or the sorted paths of the files in it if it is a directory.
inline std::vector<std::string> files_at(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    all.push_back(entry.path().string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Returns true if the files must be removed from the page cache before the measurement.
inline bool is_cold(const request& r) { return r.workload.find("cold") != std::string::npos; }

/// Reports the speed of `run()`, which returns the number of bytes read, in GB/s or in seconds of
/// CPU time per GB. If the files are cached, the second of two calls is measured.
template <class Run>
int report_reading(const request& r, const char* subject, Run run) {
  if (is_cold(r)) {
    for (const std::string& path : files_at(r.file)) evict(path);
  } else {
    static_cast<void>(run());
  }
  const double cpu_before = cpu_seconds();
  const stopwatch watch;
  const double gigabytes = static_cast<double>(run()) / 1e9;
  const double seconds = watch.seconds();
  if (r.cpu) {
    return report(r, subject, (cpu_seconds() - cpu_before) / gigabytes, "cpu s/GB");
  }
  return report(r, subject, gigabytes / seconds, "GB/s");
}

}  // namespace bench
