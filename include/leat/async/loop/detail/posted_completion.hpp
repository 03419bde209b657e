#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "leat/async/loop/detail/post_memory.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(ts/netfwd.hpp)  // declares any_io_executor

namespace LEAT::detail {

/// The completion of any operation, posted to a type-erased executor.
///
/// An asio::any_io_executor accepts no allocator and allocates its own memory. So this class finds
/// the executor inside and posts to it with its own type and memory of the operation. For an
/// unknown executor, such as a strand of an any_io_executor, this is not possible. If the
/// allocation of such an executor fails, the process ends, because only unrelated code, which
/// completes the operation, could receive the error.
class posted_completion {
 public:
  /// Ends the operation: calls its handler, or destroys it uncalled.
  using end_function = void (*)(void* operation, bool call);
  using allocator_type = post_allocator<std::byte, std::allocator<std::byte>>;

  /// Owns the operation; `memory` is a part of it.
  posted_completion(void* operation, post_memory& memory, end_function end) noexcept
      : operation_(operation), memory_(&memory), end_(end) {}
  posted_completion(posted_completion&& other) noexcept
      : operation_(std::exchange(other.operation_, nullptr)),
        memory_(other.memory_),
        end_(other.end_) {}
  posted_completion& operator=(posted_completion&&) = delete;
  ~posted_completion() {
    if (operation_) end_(operation_, false);
  }

  void post_to(const asio::any_io_executor& executor) && noexcept;

  // For Asio.
  [[nodiscard]] allocator_type get_allocator() const noexcept { return {*memory_, {}}; }
  void operator()() { end_(std::exchange(operation_, nullptr), true); }

 private:
  void* operation_;
  post_memory* memory_;
  end_function end_;
};

}  // namespace LEAT::detail
