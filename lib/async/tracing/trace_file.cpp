#include "leat/async/tracing/trace_file.hpp"

#include <exception>
#include <utility>

#include "async/tracing/trace_recorder.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

namespace {

constexpr std::uint64_t min_bytes = std::uint64_t{1} << 20;

void check(const trace_file_options& options) {
  if (options.max_bytes < min_bytes) {
    throw failure(errc::invalid_argument, "trace_file: max_bytes is " +
                                              std::to_string(options.max_bytes) +
                                              ", but must be at least 1048576 (1 MiB)");
  }
  if (options.queue_interval < duration::zero()) {
    throw failure(errc::invalid_argument,
                  "trace_file: queue_interval is negative: pass 0 for a trace without the sizes of "
                  "queues");
  }
}

}  // namespace

trace_file::trace_file(std::string path, trace_file_options options) {
  check(options);
  recorder_ = std::make_shared<detail::trace_recorder>(std::move(path), options);
  detail::trace_recorder::begin(recorder_);
}

void trace_file::close() {
  if (const auto recorder = std::exchange(recorder_, nullptr)) recorder->end();
}

trace_file::~trace_file() {
  try {
    close();
  } catch (const std::exception& error) {
    detail::print_stderr("leat: %s\n", error.what());
  }
}

}  // namespace LEAT
