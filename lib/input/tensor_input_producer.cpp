#include "leat/input/tensor_input_producer.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/tensor/stacking.hpp"

namespace LEAT {
namespace {

leat::shape shape_of_rows(const tensor& rows, const std::string& producer) {
  const leat::shape& s = rows.shape();
  if (s.rank() > 0) return leat::shape(s.dimensions().subspan(1));
  throw failure(errc::invalid_argument,
                "producer '" + producer + "': tensor is a scalar, must have rows");
}

const leat::shape& required(const std::optional<leat::shape>& s, const std::string& producer) {
  if (s) return *s;
  throw failure(errc::invalid_argument,
                "producer '" + producer + "': shape of the rows is unknown: set element_shape");
}

}  // namespace

tensor_input_producer::tensor_input_producer(tensor rows, const producer_options& options)
    : basic_producer(options), element_shape_(shape_of_rows(rows, options.name)) {
  take(std::move(rows));
  run([this] { return epoch(); });
}

tensor_input_producer::tensor_input_producer(tensor rows, leat::shape element_shape,
                                             const producer_options& options)
    : basic_producer(options), element_shape_(std::move(element_shape)) {
  take(std::move(rows));
  run([this] { return epoch(); });
}

tensor_input_producer::tensor_input_producer(std::function<task<tensor>()> find,
                                             std::optional<leat::shape> element_shape,
                                             const producer_options& options)
    : basic_producer(options),
      find_(std::move(find)),
      element_shape_(required(element_shape, options.name)) {
  run([this] { return epoch(); });
}

void tensor_input_producer::take(tensor rows) {
  const leat::shape row = shape_of_rows(rows, queue().name());
  if (row != element_shape_) {
    throw failure(errc::invalid_argument,
                  "producer '" + queue().name() + "': rows have the shape " + to_string(row) +
                      ", but element_shape is " + to_string(element_shape_));
  }
  require_items(static_cast<std::size_t>(rows.shape()[0]), "list of rows");
  rows_ = std::move(rows);
}

task<bool> tensor_input_producer::epoch() {
  if (!rows_) {
    tensor found = co_await find_();
    take(std::move(found));
  }
  const auto count = static_cast<std::size_t>(rows_->shape()[0]);
  const auto row = [this](std::size_t i) { return unstack_row(*rows_, i); };
  co_return co_await run_epoch(count, detail::push_chunk_size(queue().capacity()), row);
}

}  // namespace LEAT
