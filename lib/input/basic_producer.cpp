#include "leat/input/basic_producer.hpp"

#include <numeric>

#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

std::string quoted(const std::string& name) { return "producer '" + name + "'"; }

}  // namespace

producer_order::producer_order(const producer_options& options)
    : limit_(options.num_epochs, quoted(options.name)),
      shuffle_(options.shuffle),
      random_(seed_or_random(options.seed)) {
  if (options.num_epochs || options.capacity != unbounded) return;
  throw failure(errc::invalid_argument, quoted(options.name) +
                                            ": unbounded queue without num_epochs would grow "
                                            "without limit: set num_epochs or a capacity");
}

bool producer_order::begin_epoch(std::size_t items) {
  const std::optional<std::uint64_t> epoch = limit_.next();
  if (!epoch) return false;
  epoch_ = *epoch;
  if (!shuffle_) return true;
  order_.resize(items);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // The order depends only on the seed and the number of the epoch.
  random_engine random = random_.stream(epoch_);
  shuffle(order_.begin(), order_.end(), random);
  return true;
}

failure shared_queue_closed_error(const std::string& producer, std::uint64_t epoch,
                                  std::size_t position, std::size_t items) {
  return {errc::aborted, quoted(producer) + ": another user closed the shared queue before item " +
                             std::to_string(position) + " of " + std::to_string(items) +
                             " in epoch " + std::to_string(epoch) +
                             ": use another name, or leave num_epochs unset in both producers"};
}

void require_items(std::size_t count, const std::string& producer, std::string_view what) {
  if (count > 0) return;
  throw failure(errc::invalid_argument, quoted(producer) + ": " + std::string(what) +
                                            " is empty: at least one is required");
}

}  // namespace LEAT::detail
