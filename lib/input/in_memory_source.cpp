#include "leat/input/in_memory_source.hpp"

#include <utility>

#include "leat/base/error.hpp"

namespace LEAT {

in_memory_source::in_memory_source(const batch_spec& spec, tensor_tuple columns,
                                   std::optional<std::uint64_t> num_epochs)
    : rows_(spec.rows(std::move(columns), std::nullopt, "in_memory_source")),
      epochs_left_(num_epochs) {
  if (rows_.empty())
    throw failure(errc::invalid_argument, "in_memory_source: columns have no rows");
  if (num_epochs == std::uint64_t{0}) {
    throw failure(errc::invalid_argument,
                  "in_memory_source: num_epochs is 0: pass std::nullopt for no limit");
  }
}

task<std::optional<tensor_tuple>> in_memory_source::operator()() {
  if (next_ == rows_.size()) {
    next_ = 0;
    if (epochs_left_) --*epochs_left_;
  }
  if (epochs_left_ == std::uint64_t{0}) co_return std::nullopt;
  co_return rows_[next_++];
}

}  // namespace LEAT
