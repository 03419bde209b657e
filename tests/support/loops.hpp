#pragma once

#include <optional>

#include <asio/io_context.hpp>

#include "leat/core/asio_scheduler.hpp"
#include "leat/core/embedded_scheduler.hpp"

namespace leat_test {

/// An io_context with a scheduler, to be run in steps and destroyed in the midst.
class asio_loop {
 public:
  static constexpr const char* name = "io_context";

  [[nodiscard]] leat::scheduler& home() { return leat::get_scheduler(*io_); }
  [[nodiscard]] asio::io_context& context() { return *io_; }

  /// Runs all that can run without waiting.
  void run_ready() {
    io_->restart();
    io_->poll();
  }
  /// Runs one turn of the scheduler, or another handler.
  void run_one_turn() {
    io_->restart();
    io_->poll_one();
  }
  void end() { io_.reset(); }

 private:
  std::optional<asio::io_context> io_{std::in_place};
};

/// The same with an embedded_scheduler.
class embedded_loop {
 public:
  static constexpr const char* name = "embedded_scheduler";

  [[nodiscard]] leat::scheduler& home() { return *scheduler_; }

  void run_ready() {
    while (scheduler_->run_ready().more) {
    }
  }
  void run_one_turn() { scheduler_->run_ready(); }
  void end() { scheduler_.reset(); }

 private:
  std::optional<leat::embedded_scheduler> scheduler_{std::in_place};
};

}  // namespace leat_test
