// expect: async_run() with a yield_context needs Boost 1.84
// expect: write asio::as_tuple(yield)

#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>

#include "leat/leat.hpp"

leat::task<> work();

void run(boost::asio::io_context& io, boost::asio::yield_context yield) {
  leat::async_run(io, work(), yield);
}
