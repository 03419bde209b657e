#include "leat/io/reader/identity_reader.hpp"

#include <utility>

namespace LEAT {

task<std::unique_ptr<identity_reader>> identity_reader::open(std::string path, options_type,
                                                             std::source_location) {
  co_return std::make_unique<identity_reader>(std::move(path));
}

task<bool> identity_reader::read_batch(batch_type& batch, std::source_location) {
  batch.clear();
  if (std::exchange(delivered_, true)) co_return false;
  batch.records_.push_back(as_bytes(*path_));
  batch.path_ = path_;
  batch.data_ = batch.records_.front().data();
  batch.offset_ = batch.index_ = batch.frame_ = 0;
  co_return true;
}

}  // namespace LEAT
