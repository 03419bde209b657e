#pragma once

#include <cstdint>
#include <string>

#include "leat/io/backend/file_backend.hpp"

namespace soak {

/// One round: a runtime of its own, random files and a random pipeline over them.
struct round_options {
  std::uint64_t seed = 0;
  leat::file_backend_choice backend = leat::file_backend_choice::threads;
  std::string directory;  ///< for its files; exists and is empty
};

/// What happened in rounds.
struct counts {
  std::uint64_t records = 0;   ///< that came out, all of them accounted for
  std::uint64_t stopped = 0;   ///< rounds that were stopped
  std::uint64_t failed = 0;    ///< rounds that ended by an injected error
  std::uint64_t damaged = 0;   ///< times that damage was met
  std::uint64_t injected = 0;  ///< faults of all kinds
  std::uint64_t hard = 0;      ///< those that nothing can be done about: EIO

  counts& operator+=(const counts& other) noexcept;
};

/// Runs a round on this OS thread and threads of its own. Throws when something does not hold.
[[nodiscard]] counts run_round(const round_options& options);

}  // namespace soak
