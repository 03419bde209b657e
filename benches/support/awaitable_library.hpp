#pragma once

#include <utility>

#include <asio.hpp>

namespace bench {

/// Coroutines of Asio, for asio_loops and net_loops.
struct awaitable_library {
  using task = asio::awaitable<void>;
  static constexpr auto& token = asio::use_awaitable;
  static void start(asio::io_context& io, task t) {
    asio::co_spawn(io, std::move(t), asio::detached);
  }

#if defined(LEAT_ASIO_BOOST)
  static constexpr const char* subject = "boost::asio::awaitable";
#else
  static constexpr const char* subject = "asio::awaitable";
#endif
};

}  // namespace bench
