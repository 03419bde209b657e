#include "leat/io/backend/get_file_backend.hpp"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>

#include "base/internal/never_destroyed.hpp"
#include "io/backend/backend_support.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

// The backends of this process's schedulers so far.
struct outcomes {
  std::mutex mutex;
  std::size_t rings = 0;
  std::size_t threads = 0;  // because they were requested
  std::size_t refused = 0;  // threads instead of a ring
  std::string refusal;      // the reason of the first refusal
};

outcomes& process_outcomes() {
  static detail::never_destroyed<outcomes> all;
  return all.get();
}

file_backend_choice resolve(file_backend_choice choice) {
  if (choice != file_backend_choice::automatic) return choice;
  const char* const value = std::getenv("LEAT_IO");
  if (!value || !*value) return choice;
  const std::string_view text = value;
  if (text == "uring" || text == "io_uring") return file_backend_choice::io_uring;
  if (text == "threads") return file_backend_choice::threads;
  throw failure(errc::invalid_argument,
                "LEAT_IO=" + std::string(text) + " is not a file backend: use uring or threads");
}

std::unique_ptr<file_backend> make(detail::event_loop_scheduler& sched,
                                   file_backend_choice choice) {
  choice = resolve(choice);
  if (choice == file_backend_choice::threads) {
    auto threads = detail::make_thread_backend();
    const std::lock_guard lock(process_outcomes().mutex);
    ++process_outcomes().threads;
    return threads;
  }
  int refusal = 0;
  if (auto ring = detail::make_uring_backend(sched, refusal)) {
    const std::lock_guard lock(process_outcomes().mutex);
    ++process_outcomes().rings;
    return ring;
  }
  const std::string why = std::generic_category().message(refusal);
  if (choice == file_backend_choice::io_uring) {
    throw failure(errc::unavailable, "io_uring was requested, but is refused: " + why +
                                         "; use LEAT_IO=threads or lift the restriction");
  }
  auto threads = detail::make_thread_backend();
  const std::lock_guard lock(process_outcomes().mutex);
  if (process_outcomes().refused++ == 0) process_outcomes().refusal = why;
  return threads;
}

}  // namespace

file_backend& get_file_backend(scheduler& s, file_backend_choice choice) {
  if (auto* const files = s.find_service<file_backend>()) return *files;
  auto* const loop = dynamic_cast<detail::event_loop_scheduler*>(&s);
  if (!loop) {
    throw failure(errc::failed_precondition,
                  "scheduler has no file backend: pass one to its set_service()");
  }
  loop->own_service<[](file_backend& files, scheduler& sched) noexcept {
    files.complete_without_loop(sched);
  }>(std::shared_ptr<file_backend>(make(*loop, choice)));
  return *s.find_service<file_backend>();
}

std::string file_backend_reason() {
  const outcomes& all = process_outcomes();
  const std::lock_guard lock(process_outcomes().mutex);
  if (all.refused > 0) {
    std::string text = "threads: io_uring is refused: " + all.refusal;
    if (all.rings > 0) {
      text += " (" + std::to_string(all.refused) + " of " +
              std::to_string(all.refused + all.rings) + " schedulers)";
    }
    return text;
  }
  if (all.rings > 0) return "io_uring";
  return all.threads > 0 ? "threads: requested" : "not chosen yet";
}

}  // namespace LEAT
