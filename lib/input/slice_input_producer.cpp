#include "leat/input/slice_input_producer.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/tensor/stacking.hpp"

namespace LEAT {
namespace {

std::string column_name(const tensor_tuple& columns, std::size_t i) {
  return columns.has_names() ? "column '" + columns.names()[i] + "'"
                             : "column " + std::to_string(i);
}

[[noreturn]] void refuse_rows(const std::string& producer, const std::string& why) {
  throw failure(errc::invalid_argument, "producer '" + producer + "': " + why);
}

// Returns the spec of the rows, if all columns have the same number of rows.
element_spec spec_of_rows(const tensor_tuple& columns, const std::string& producer) {
  if (columns.empty()) refuse_rows(producer, "no columns: pass one or more");
  std::vector<component_spec> components;
  for (std::size_t i = 0; i < columns.count(); ++i) {
    const shape& s = columns[i].shape();
    if (s.rank() == 0)
      refuse_rows(producer, column_name(columns, i) + " is a scalar, must have rows");
    if (s[0] != columns[0].shape()[0]) {
      refuse_rows(producer, column_name(columns, 0) + " has " +
                                std::to_string(columns[0].shape()[0]) + " rows, " +
                                column_name(columns, i) + " has " + std::to_string(s[0]) +
                                ": all columns must have the same number of rows");
    }
    components.push_back({.type = columns[i].type(),
                          .shape = partial_shape(s.dimensions().subspan(1)),
                          .name = columns.has_names() ? columns.names()[i] : std::string()});
  }
  return element_spec(std::move(components));
}

}  // namespace

slice_input_producer::slice_input_producer(tensor_tuple columns, const producer_options& options)
    : basic_producer(options),
      columns_(std::move(columns)),
      spec_(spec_of_rows(columns_, options.name)) {
  const auto rows = static_cast<std::size_t>(columns_[0].shape()[0]);
  require_items(rows, "list of rows");
  run([this, rows] {
    return run_epoch(rows, detail::push_chunk_size(queue().capacity()),
                     [this](std::size_t i) { return element(i); });
  });
}

tensor_tuple slice_input_producer::element(std::size_t row) const {
  std::vector<tensor> components;
  components.reserve(columns_.count());
  for (const tensor& column : columns_) components.push_back(unstack_row(column, row));
  return spec_.make_tuple(std::move(components));
}

}  // namespace LEAT
