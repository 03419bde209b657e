#include "leat/io/index/detail/sidecar_index.hpp"

#include <utility>

#include "leat/io/file/file.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"

namespace LEAT::detail {

task<void> sidecar_index::finish(std::string data, std::string path) {
  if (finished_) co_return;
  if (bytes_.empty()) {
    file written = co_await file::open(std::move(data));
    // Renaming the file does not change its fingerprint.
    const tfrecord_fingerprint fingerprint = co_await get_tfrecord_fingerprint(written);
    // From a copy of the builder, so that the step can be repeated after an error.
    bytes_ = tfrecord_index_builder(builder_).finish(fingerprint).encode();
  }
  if (!file_) file_.emplace(co_await atomic_file::create(std::move(path)));
  if (file_->contents().is_open()) {
    co_await file_->contents().write_at(0, bytes_);
    co_await file_->finish();
  }
  finished_ = true;
  bytes_ = std::vector<std::byte>();  // {} would keep the memory
  builder_ = {};
}

}  // namespace LEAT::detail
