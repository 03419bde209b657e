#include "io/new_file.hpp"

#include <utility>

#include "leat/core/error.hpp"
#include "leat/io/file.hpp"

namespace leat::detail {
namespace {

// So many unfinished files of one path are too many: somebody forgets to clean up.
constexpr int max_partial_files = 1000;

task<file> open_partial(std::string path) {
  const std::string partial = path + ".partial";
  for (int i = 0;; ++i) {
    std::string name = partial;
    if (i > 0) name += std::to_string(i);
    file f;
    try {
      f = co_await file::open(std::move(name), open_mode::write_new);
    } catch (const failure& e) {
      if (e.code() != errc::already_exists || i == max_partial_files) throw;
    }
    if (f.is_open()) co_return f;
  }
}

// Removes the file under its name of now, unless told to keep it.
class removed {
 public:
  explicit removed(const file& f) noexcept : file_(&f) {}
  removed(const removed&) = delete;
  removed& operator=(const removed&) = delete;
  ~removed() {
    if (!file_) return;
    file_request request;
    request.what = file_request::operation::remove;
    request.path = file_->path().c_str();
    file_->open_handle()->run_anywhere(request);
  }
  void keep() noexcept { file_ = nullptr; }

 private:
  const file* file_;
};

}  // namespace

task<void> write_new_file(std::string path, byte_view content) {
  file f = co_await open_partial(path);
  removed on_failure(f);
  co_await f.write_at(0, content);
  co_await f.sync();
  co_await rename_file(f.path(), path);
  on_failure.keep();
  co_await f.close();
  // A variable of its own: g++ 12 destroys a temporary of a conditional expression twice where the
  // expression is awaited.
  std::string directory = ".";
  if (const auto slash = path.rfind('/'); slash != std::string::npos) {
    directory = path.substr(0, slash + 1);
  }
  co_await sync_directory(std::move(directory));
}

}  // namespace leat::detail
