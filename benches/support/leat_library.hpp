#pragma once

#include <utility>

#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <leat/async/loop/async_run.hpp>
#include <leat/async/loop/use_task.hpp>

namespace bench {

/// Tasks of leat, for asio_loops and net_loops.
struct leat_library {
  using task = leat::task<>;
  static constexpr const leat::use_task_t& token = leat::use_task;
  static void start(asio::io_context& io, task t) {
    leat::async_run(io, std::move(t), asio::detached);
  }
};

}  // namespace bench
