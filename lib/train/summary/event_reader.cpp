#include "leat/train/summary/event_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"

namespace LEAT {
namespace {

constexpr std::string_view event_file_mark = "tfevents";
constexpr int max_depth = 32;

// Identifies a directory regardless of its name. Zeros, of a backend without links, identify none.
using directory_id = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

struct directory_content {
  struct subdirectory {
    std::string path;
    directory_id id;
  };
  std::vector<std::string> event_files;
  std::vector<subdirectory> directories;
};

// Ignores files that are deleted meanwhile, and links that lead nowhere or to themselves.
task<std::optional<file_status>> find_status(std::string path) {
  std::optional<file_status> status;
  try {
    status = co_await get_status(std::move(path));
  } catch (const failure& e) {
    if (e.code() != errc::not_found && e.code() != errc::failed_precondition) throw;
  }
  co_return status;
}

void check_path(const std::string& directory) {
  if (!directory.empty()) return;
  throw failure(errc::invalid_argument,
                "events: path of the directory is empty: use \".\" for the current directory");
}

task<directory_content> scan_directory(std::string directory) {
  directory_content found;
  const std::vector<std::string> names = co_await list_directory(directory);
  for (const std::string& name : names) {
    std::string path = directory + "/" + name;
    const auto status = co_await find_status(path);
    if (!status) continue;
    if (status->is_directory) {
      found.directories.push_back({std::move(path), {status->device, status->inode}});
    } else if (status->is_regular && name.find(event_file_mark) != std::string::npos) {
      found.event_files.push_back(std::move(path));
    }
  }
  co_return found;
}

// An intact record that is not an event.
void handle_malformed_event(const failure& e, const record_position& at, std::size_t size,
                            const event_reader_options& options, event_run& run) {
  corruption_report report;
  report.path = std::string(at.path);
  report.offset = at.offset;
  report.index = at.index;
  report.skipped = tfrecord_overhead + size;
  report.what = detail::without_code_message(e);
  const bool limit = e.code() == errc::resource_exhausted;
  const corruption_options& o = options.corruption;
  if (limit || o.policy == corruption_policy::fail || run.skipped >= o.max_reports) {
    throw failure(e.code(), report.path + ", record " + std::to_string(at.index) + " at offset " +
                                std::to_string(at.offset) + ": " + report.what);
  }
  ++run.skipped;
  if (o.on_report) o.on_report(report);
}

task<void> read_file(std::string path, const event_reader_options& options,
                     event_accumulator& accumulator, event_run& run) {
  tfrecord_reader_options how;
  how.max_record_size = options.max_record_size;
  how.tolerate_truncated_tail = true;
  how.corruption = options.corruption;
  const auto reader = co_await tfrecord_reader::open(std::move(path), how);
  record_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      try {
        accumulator.add(event_record::from_bytes(as_text(batch[i]), options.limits));
      } catch (const failure& e) {
        handle_malformed_event(e, batch.position(i), batch[i].size(), options, run);
      }
    }
  }
  run.skipped += reader->statistics().reports;
  run.unwritten += reader->statistics().left_over;
}

}  // namespace

task<event_run> read_events(std::string directory, event_reader_options options) {
  check_path(directory);
  event_run run;
  directory_content found = co_await scan_directory(directory);
  if (found.event_files.empty()) {
    throw failure(errc::not_found, directory + ": no event file, whose name contains 'tfevents'");
  }
  event_accumulator accumulator(options.max_points);
  for (const std::string& path : found.event_files) {
    co_await read_file(path, options, accumulator, run);
  }
  run.files = std::move(found.event_files);
  run.series = accumulator.take();
  co_return run;
}

task<event_run> read_events(std::string directory) {
  return read_events(std::move(directory), event_reader_options());
}

task<std::vector<std::string>> find_event_runs(std::string directory) {
  check_path(directory);
  std::vector<std::string> runs;
  std::set<directory_id> visited;  // links can lead to a directory again
  if (const auto status = co_await find_status(directory)) {
    visited.emplace(status->device, status->inode);
  }
  // Level by level, so that a directory gets the shortest of its paths.
  std::vector<std::string> level{std::move(directory)};
  for (int depth = 0; depth <= max_depth && !level.empty(); ++depth) {
    std::vector<std::string> next;
    for (const std::string& path : level) {
      directory_content found = co_await scan_directory(path);
      if (!found.event_files.empty()) runs.push_back(path);
      for (auto& [inner, id] : found.directories) {
        if (id == directory_id() || visited.insert(id).second) next.push_back(std::move(inner));
      }
    }
    level = std::move(next);
  }
  std::sort(runs.begin(), runs.end());
  co_return runs;
}

}  // namespace LEAT
