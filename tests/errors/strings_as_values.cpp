// expect: strings have no values<T>(): write strings()
#include <string_view>

#include "leat/core/batch_columns.hpp"

auto words(const leat::batch_columns& batch) { return batch["words"].values<std::string_view>(); }
