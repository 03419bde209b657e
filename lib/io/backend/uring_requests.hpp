#pragma once

#include <bitset>

#include <liburing.h>

#include "leat/files/file_backend.hpp"

namespace LEAT::detail {

/// Converts file requests to entries of a ring.
class uring_requests {
 public:
  /// Queries the operations of the kernel. Returns 0, or a negative errno, such as ENOSYS if it
  /// cannot read and write.
  int probe(io_uring& ring) noexcept;

  /// Returns false if the kernel lacks the operation or memory is short.
  [[nodiscard]] bool begin(file_request& r) const noexcept;

  /// Fills in an entry of the submission queue, after begin() or for the next step of a request.
  static void prepare(io_uring_sqe& sqe, file_request& r) noexcept;

  enum class next_step {
    none,     ///< the result is set
    ring,     ///< prepare it again
    workers,  ///< the worker threads execute it
  };
  /// Returns the next step of a completed request.
  [[nodiscard]] static next_step finish(file_request& r, std::int64_t result) noexcept;

 private:
  [[nodiscard]] static next_step finish_stream_transfer(file_request& r) noexcept;

  std::bitset<IORING_OP_LAST> known_;
};

}  // namespace LEAT::detail
