#include "leat/input/range_input_producer.hpp"

#include <cstddef>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

constexpr std::size_t numbers_at_a_time = 1024;

}  // namespace

range_input_producer::range_input_producer(std::int64_t limit, const producer_options& options)
    : basic_producer(options) {
  if (limit < 1 || limit > std::int64_t{INT32_MAX} + 1) {
    throw failure(errc::invalid_argument, "producer '" + options.name + "': limit is " +
                                              std::to_string(limit) + ", must be 1 to 2147483648");
  }
  run([this, count = static_cast<std::size_t>(limit)] {
    return run_epoch(count, numbers_at_a_time,
                     [](std::size_t i) { return static_cast<std::int32_t>(i); });
  });
}

}  // namespace LEAT
