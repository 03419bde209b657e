#pragma once

#include <cstdint>
#include <string>

#include "leat/io/backend/get_file_backend.hpp"

namespace soak {

/// Options of a round, which has its own runtime, random files and a random pipeline over them.
struct round_options {
  std::uint64_t seed = 0;
  leat::file_backend_choice backend = leat::file_backend_choice::threads;
  std::string directory;  ///< for its files; exists and is empty
};

/// Counts of events in rounds.
struct counts {
  std::uint64_t records = 0;   ///< that came out, all of them accounted for
  std::uint64_t stopped = 0;   ///< rounds that were stopped
  std::uint64_t failed = 0;    ///< rounds that ended by an injected error
  std::uint64_t damaged = 0;   ///< times that damage was met
  std::uint64_t injected = 0;  ///< faults of all kinds
  std::uint64_t hard = 0;      ///< those that nothing can be done about: EIO

  counts& operator+=(const counts& other) noexcept;
};

/// Runs a round on this OS thread and on its own threads. Throws if a check fails.
[[nodiscard]] counts run_round(const round_options& options);

}  // namespace soak
