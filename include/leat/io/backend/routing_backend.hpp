#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/files/file_backend.hpp"

namespace LEAT {

/// A file backend that selects another backend for each path, by the longest prefix of the path.
///
///     leat::routing_backend files(leat::get_file_backend(sched));
///     files.add("/bucket", bucket);
///     sched.set_service<leat::file_backend>(&files);
///
/// From then on, readers, writers, checkpoints and patterns on this scheduler use `bucket` for
/// "/bucket" and every path below it. The backends receive whole paths. Only the text of a path
/// counts: "." and ".." are not resolved, and neither are links.
///
/// A prefix ends at the end of a name: "/bucket" does not apply to "/buckets". The last match of a
/// pattern is a name that a backend has listed, so a directory that exists only as a prefix must be
/// named, not matched. match_files() removes repeated slashes: avoid them in a prefix.
///
/// A rename from one backend to another fails with EXDEV, and the message names both backends.
/// A file belongs to the backend that opened it; its operations take no detour.
///
/// It refers to its backends, and outlives all operations on the schedulers that use it, as they
/// do. Thread safety: thread-bound to its scheduler, like its backends.
class routing_backend final : public file_backend {
 public:
  /// Creates a backend that uses `otherwise` for all paths without a prefix.
  explicit routing_backend(file_backend& otherwise) noexcept : otherwise_(otherwise) {}

  /// Uses `backend` for paths with this prefix, from the next operation on.
  /// Errors: invalid_argument if the prefix is empty or already present; std::bad_alloc.
  void add(std::string prefix, file_backend& backend);

  [[nodiscard]] std::string_view name() const noexcept override { return "routing"; }
  /// Returns what all of its backends support.
  [[nodiscard]] file_capabilities capabilities() const noexcept override;
  [[nodiscard]] file_backend& backend_for(std::string_view path) noexcept override;
  /// Requests with a path go to its backend. Those with a handle end with -EBADF, because they must
  /// be submitted to the backend that opened the file.
  void submit(file_request& request) noexcept override;
  bool try_complete(file_request& request) noexcept override;
  void cancel(file_request& request) noexcept override;
  void complete_without_loop(scheduler& sched) noexcept override;
  void execute_blocking(file_request& request) noexcept override;
  int set_direct(int handle, bool direct) noexcept override;
  [[nodiscard]] std::string owner_text() const override { return otherwise_.owner_text(); }
  [[nodiscard]] bool uses_descriptors() const noexcept override { return false; }

 private:
  // Returns null, with the error in the result, if no single backend can perform it.
  [[nodiscard]] file_backend* find_target(file_request& request) noexcept;

  file_backend& otherwise_;
  std::vector<std::pair<std::string, file_backend*>> routes_;  // the longest prefix first
};

}  // namespace LEAT
