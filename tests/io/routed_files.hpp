#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/this_task.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/backend/routing_backend.hpp"
#include "support/temp_dir.hpp"

namespace leat_test {

/// A backend for paths that begin with "name:". Their files are in a temporary directory. Performs
/// each request in the call.
class mapped_backend final : public leat::file_backend {
 public:
  mapped_backend(std::string name, leat::file_backend& real, leat::file_capabilities can)
      : name_(std::move(name)), real_(real), can_(can) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] leat::file_capabilities capabilities() const noexcept override { return can_; }
  void submit(leat::file_request& request) noexcept override {
    execute_blocking(request);
    request.completion_scheduler->post(request);
  }
  bool try_complete(leat::file_request& request) noexcept override {
    execute_blocking(request);
    return true;
  }
  void cancel(leat::file_request&) noexcept override {}
  void execute_blocking(leat::file_request& request) noexcept override {
    ++requests;
    const std::string path = real_path(request.path);
    const std::string new_path = real_path(request.new_path);
    const char* const given = std::exchange(request.path, request.path ? path.c_str() : nullptr);
    const char* const new_given =
        std::exchange(request.new_path, request.new_path ? new_path.c_str() : nullptr);
    real_.execute_blocking(request);
    request.path = given;
    request.new_path = new_given;
  }
  int set_direct(int handle, bool direct) noexcept override {
    ++direct_calls;
    return real_.set_direct(handle, direct);
  }
  [[nodiscard]] bool uses_descriptors() const noexcept override { return false; }

  const temp_dir files;
  int requests = 0;
  int direct_calls = 0;

 private:
  [[nodiscard]] std::string real_path(const char* path) const {
    return path ? files.path() + std::string(path).substr(name_.size() + 1) : std::string();
  }

  const std::string name_;
  leat::file_backend& real_;
  const leat::file_capabilities can_;
};

/// Runs `body(left, right)` on a scheduler that routes "left:" and "right:" to a backend each.
/// `can`: the capabilities of the left one.
template <class Body>
void with_routed_files(Body body, leat::file_capabilities can = {}) {
  leat::block_on([](Body run, leat::file_capabilities left_can) -> leat::task<> {
    leat::scheduler& here = leat::this_task::get_scheduler();
    leat::file_backend& real = leat::get_file_backend(here);
    mapped_backend left("left", real, left_can);
    mapped_backend right("right", real, {});
    leat::routing_backend files(real);
    files.add("left:", left);
    files.add("right:", right);
    here.set_service<leat::file_backend>(&files);
    std::exception_ptr error;
    try {
      co_await run(left, right);
    } catch (...) {
      error = std::current_exception();
    }
    here.set_service<leat::file_backend>(&real);
    if (error) std::rethrow_exception(error);
  }(std::move(body), can));
}

}  // namespace leat_test
