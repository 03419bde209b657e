// expect: call strings() for strings
#include <string_view>

#include "leat/tensor/column_batch.hpp"

auto words(const leat::column_batch& batch) { return batch["words"].values<std::string_view>(); }
