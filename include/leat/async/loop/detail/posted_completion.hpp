#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <asio/ts/netfwd.hpp>  // declares any_io_executor

#include "leat/async/loop/detail/post_memory.hpp"

namespace leat::detail {

/// A completion on its way to a type-erased executor, whichever operation it is of.
///
/// An asio::any_io_executor takes no allocator: what it is given it puts into memory of its own. So
/// the executor in it is looked for and posted to as what it is, with memory of the operation. Of
/// one that is not known, such as a strand of an any_io_executor, that cannot be had; whom it might
/// tell that there is no memory is who completes the operation, a stranger: it ends the process.
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

}  // namespace leat::detail
