#include "leat/io/file/internal/atomic_file.hpp"

#include <utility>

#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/io/backend/get_file_backend.hpp"

namespace LEAT::detail {
namespace {

// The steps of a durable replacement, in this order: write to the partial name, sync, close,
// rename, sync the directory. A crash before the rename leaves the old file, and the rename makes
// only contents visible that are on the device, unless `on_device` is false. The close precedes the
// rename because it may report a late write error.
//
// An object owns the name that the file has: partial_path_ until the rename, then committed_path_.
// The destructor removes that name unless release() was called.

// The largest number of unfinished files of one path. More than these are never cleaned up by any
// program.
constexpr int max_partial_files = 1000;

// A rename would replace a device or a pipe for all of its users.
task<void> require_replaceable(std::string path) {
  file_status there;
  there.is_regular = true;
  try {
    there = co_await get_status(path);
  } catch (const failure&) {  // usually the file does not exist; otherwise the next step fails
  }
  if (there.is_regular) co_return;
  throw failure(errc::invalid_argument,
                path + ": not a regular file, and therefore not replaced: use another path");
}

}  // namespace

task<atomic_file> atomic_file::create(std::string path) {
  if (path.empty()) {
    throw failure(errc::invalid_argument, "'': cannot write a file with an empty path");
  }
  // Otherwise the rename would fail only when the file is complete.
  require_capability(path, get_file_backend(this_task::get_scheduler()).backend_for(path),
                     &file_capabilities::rename);
  co_await require_replaceable(path);
  path += ".partial";
  for (int i = 0;; ++i) {
    std::string name = path;
    if (i > 0) name += std::to_string(i);
    std::string own = name;  // created before the file, so that its destructor removes the file
    file f;
    try {
      f = co_await file::open(std::move(name), open_mode::write_new);
    } catch (const failure& e) {
      if (e.code() != errc::already_exists || i == max_partial_files) throw;
    }
    if (f.is_open()) co_return atomic_file(std::move(f), std::move(own));
  }
}

atomic_file::atomic_file(file f, std::string path) noexcept
    : file_(std::move(f)), handle_(file_.open_handle()), partial_path_(std::move(path)) {}

atomic_file::~atomic_file() {
  if (!handle_ || released_) return;
  file_request request;
  request.what = file_request::operation::remove;
  request.path = committed_path_.empty() ? partial_path_.c_str() : committed_path_.c_str();
  handle_->run_without_scheduler(request);  // an error leaves the file: nothing more can be done
}

task<void> atomic_file::finish(bool on_device) {
  if (on_device && !finished_) co_await file_.sync();
  finished_ = true;
  co_await file_.close();
}

task<void> atomic_file::commit(std::string path) {
  LEAT_ASSERT(finished_, "atomic_file: commit() before finish(): await finish() first");
  if (!committed_path_.empty()) co_return;
  co_await rename_file(partial_path_, path);
  committed_path_ = std::move(path);
}

void atomic_file::roll_back() noexcept {
  if (committed_path_.empty()) return;
  file_request request;
  request.what = file_request::operation::rename;
  request.path = committed_path_.c_str();
  request.new_path = partial_path_.c_str();
  handle_->run_without_scheduler(request);
  if (request.result == 0) committed_path_.clear();  // otherwise the destructor removes it
}

task<void> write_new_file(std::string path, byte_view contents, bool on_device) {
  atomic_file f = co_await atomic_file::create(path);
  co_await f.contents().write_at(0, contents);
  co_await f.finish(on_device);
  co_await f.commit(path);
  f.release();
  if (on_device) co_await sync_parent_directory(std::move(path));
}

task<void> sync_parent_directory(std::string path) {
  // A named variable, because g++ 12 destroys a temporary of a conditional expression twice if the
  // expression is awaited.
  std::string directory = ".";
  if (const auto slash = path.rfind('/'); slash != std::string::npos) {
    directory = path.substr(0, slash + 1);
  }
  co_await sync_directory(std::move(directory));
}

}  // namespace LEAT::detail
