#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "support/bench.hpp"

namespace bench {

/// The file at a path, or the files of the directory there, in order.
inline std::vector<std::string> files_at(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    all.push_back(entry.path().string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// True for a workload whose files are taken out of the page cache first.
inline bool is_cold(const request& r) { return r.workload.find("cold") != std::string::npos; }

/// Reports a reading, given as a function that gives the bytes read: GB/s, or the processor's
/// seconds for a GB. From the page cache it is the second one that counts.
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
