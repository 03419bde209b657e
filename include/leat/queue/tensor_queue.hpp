#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <asio/async_result.hpp>

#include "leat/base/error.hpp"
#include "leat/queue/basic_queue.hpp"
#include "leat/queue/blocking_operations.hpp"
#include "leat/queue/detail/initiate.hpp"
#include "leat/queue/detail/tensor_queue_operations.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/stacking.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat {

/// A queue of elements with shapes, and of batches of them.
///
/// Around a Queue of tensor_tuple, such as random_shuffle_queue<tensor_tuple>, that names its
/// options_type and its kind as that does; accepts only what matches its spec. For anything
/// else the call itself, in every form, throws invalid_argument and leaves the queue unchanged. A
/// batch is one tensor for each component; dimensions that the spec does not know are padded to the
/// largest of the batch, see stack().
///
///     using leat::dtype;
///     leat::element_spec spec({{.type = dtype::int64, .shape = {leat::unknown_dimension}}});
///     leat::tensor_queue<leat::random_shuffle_queue<leat::tensor_tuple>> samples(
///         spec, leat::shuffle_options{.capacity = 1000, .min_after_dequeue = 500});
///     co_await samples.push(leat::tensor_tuple(sentence));                      // [n] each
///     while (auto batch = co_await samples.pop_many(32)) learn((*batch)[0]);    // [32, longest n]
///
/// With a weigher, such as element_byte_size, the Queue is also bounded by what its elements weigh;
/// a push of a batch weighs each of its elements.
///
/// Where the spec has names, elements and batches are pushed with names, in any order, and leave
/// with them; see tensor_tuple::named().
///
/// The contract is that of basic_queue: order of service, cancellation, close, thread safety.
/// Errors, of all that is pushed: invalid_argument, thrown by the call.
/// TensorFlow: QueueBase with dtypes, shapes and names.
template <class Queue>
class tensor_queue
    : public blocking_operations<tensor_queue<Queue>, tensor_tuple, tensor_tuple, tensor_tuple> {
 public:
  using value_type = tensor_tuple;
  using options_type = typename Queue::options_type;
  static constexpr const char* kind = Queue::kind;  ///< for messages

  /// `queue_arguments`: what the Queue is made of. Errors: those of its construction.
  template <class... QueueArguments>
  explicit tensor_queue(element_spec spec, QueueArguments&&... queue_arguments)
      : spec_(std::move(spec)),
        queue_(std::forward<QueueArguments>(queue_arguments)...),
        owner_("queue '" + queue_.name() + "'") {}

  /// What the elements have to be.
  [[nodiscard]] const element_spec& spec() const noexcept { return spec_; }

  // ---- One element: see basic_queue. Names may be put into another order by a push.

  /// Adds an element and waits while the queue is full.
  [[nodiscard]] auto push(tensor_tuple&& element,
                          std::source_location where = std::source_location::current()) {
    spec_.check(element, owner_);
    return queue_.push(std::move(element), where);
  }
  [[nodiscard]] auto push(const tensor_tuple& element,
                          std::source_location where = std::source_location::current()) {
    return awaiter<push_copy_operation>(queue_, where, checked(element));
  }

  /// Removes the next element as it was pushed: without padding.
  [[nodiscard]] auto pop(std::source_location where = std::source_location::current()) noexcept {
    return queue_.pop(where);
  }

  /// Adds an element if that does not need to wait.
  [[nodiscard]] bool try_push(tensor_tuple&& element) {
    spec_.check(element, owner_);
    return queue_.try_push(std::move(element));
  }
  [[nodiscard]] bool try_push(const tensor_tuple& element) {
    return queue_.try_push(checked(element));
  }

  /// Removes the next element if that does not need to wait.
  [[nodiscard]] std::optional<tensor_tuple> try_pop() noexcept { return queue_.try_pop(); }

  /// push() for Asio.
  ///
  /// Completion: void(std::error_code, bool); see basic_queue::async_push().
  template <asio::completion_token_for<void(std::error_code, bool)> Token>
  auto async_push(tensor_tuple element, Token&& token,
                  std::source_location where = std::source_location::current()) {
    spec_.check(element, owner_);
    return queue_.async_push(std::move(element), std::forward<Token>(token), where);
  }

  /// pop() for Asio.
  ///
  /// Completion: void(std::error_code, std::optional<tensor_tuple>)
  template <asio::completion_token_for<void(std::error_code, std::optional<tensor_tuple>)> Token>
  auto async_pop(Token&& token, std::source_location where = std::source_location::current()) {
    return queue_.async_pop(std::forward<Token>(token), where);
  }

  // ---- Batches.

  /// Adds the elements of a batch as one contiguous sequence and waits whenever the queue is full:
  /// see basic_queue::push_many(). All components have the same size in dimension 0. Returns the
  /// number of elements added.
  ///
  /// Cost: the elements are copied from the batch, by the call.
  [[nodiscard]] auto push_many(tensor_tuple batch,
                               std::source_location where = std::source_location::current()) {
    return awaiter<push_owned_operation>(queue_, where, elements_of(batch));
  }

  /// Removes `count` elements as one batch, waiting until they are together: see
  /// basic_queue::pop_many(). A count of 0 gives an empty batch at once; dimensions that the spec
  /// does not know are 0 in it.
  ///
  /// Errors: as there; invalid_argument, thrown by the call, for a component of unknown rank, also
  ///         for a count of 0. When there is no memory for the batch, std::bad_alloc (or
  ///         invalid_argument where 64 bits cannot count it), and the elements are back in the
  ///         queue, in front; without memory for that either, they are lost and the queue has
  ///         failed.
  /// Cost:   two passes over the elements' shapes and one over their values, when the caller gets
  ///         the batch; one allocation for each component.
  [[nodiscard]] auto pop_many(std::size_t count,
                              std::source_location where = std::source_location::current()) {
    return awaiter<pop_many_operation>(queue_, where, wanted(count), queue_, spec_);
  }

  /// As pop_many(), but once the queue is closed what is left suffices: see
  /// basic_queue::pop_up_to().
  [[nodiscard]] auto pop_up_to(std::size_t count,
                               std::source_location where = std::source_location::current()) {
    return awaiter<pop_up_to_operation>(queue_, where, wanted(count), queue_, spec_);
  }

  /// Adds as many elements of a batch as possible without waiting, as one sequence from the first
  /// on, and returns their number. It is 0 if the queue is full or closed, or if other pushes wait.
  ///
  /// Cost: all elements are copied from the batch, also those that are not added.
  [[nodiscard]] std::size_t try_push_many(tensor_tuple batch) {
    std::vector<tensor_tuple> items_to_push = elements_of(batch);
    return queue_.try_push_many(items_to_push);
  }

  /// Removes `count` elements as one batch if that needs no waiting, or none.
  ///
  /// Errors: as pop_many().
  [[nodiscard]] std::optional<tensor_tuple> try_pop_many(std::size_t count) {
    return queue_.try_batch(pop_many_operation(wanted(count), queue_, spec_));
  }

  /// Removes what is there as one batch, up to `count` elements, whether the queue is open or
  /// closed. Empty: nothing can be had without waiting.
  ///
  /// Errors: as pop_many().
  [[nodiscard]] std::optional<tensor_tuple> try_pop_up_to(std::size_t count) {
    return queue_.try_batch(pop_up_to_operation(wanted(count), queue_, spec_));
  }

  /// push_many() for Asio; the elements are copied from the batch before this returns.
  ///
  /// Completion: void(std::error_code, std::size_t); see basic_queue::async_push_many().
  template <asio::completion_token_for<void(std::error_code, std::size_t)> Token>
  auto async_push_many(tensor_tuple batch, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return detail::initiate<push_owned_operation>(queue_, where, std::forward<Token>(token),
                                                  elements_of(batch));
  }

  /// pop_many() for Asio. The batch is made on the handler's executor; when that fails the handler
  /// gets the code of what pop_many() would throw, and the elements are back in the queue.
  ///
  /// Completion: void(std::error_code, std::optional<tensor_tuple>)
  template <asio::completion_token_for<void(std::error_code, std::optional<tensor_tuple>)> Token>
  auto async_pop_many(std::size_t count, Token&& token,
                      std::source_location where = std::source_location::current()) {
    return initiate_batch<pop_many_operation>(count, where, std::forward<Token>(token));
  }

  /// pop_up_to() for Asio; see async_pop_many().
  ///
  /// Completion: void(std::error_code, std::optional<tensor_tuple>)
  template <asio::completion_token_for<void(std::error_code, std::optional<tensor_tuple>)> Token>
  auto async_pop_up_to(std::size_t count, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return initiate_batch<pop_up_to_operation>(count, where, std::forward<Token>(token));
  }

  // ---- wait_push(), wait_pop(), ..., for OS threads: see blocking_operations.

  // ---- What all queues have: see queue_base.

  /// This queue for what works with any, such as a queue_runner.
  operator queue_base&() noexcept { return queue_; }
  operator const queue_base&() const noexcept { return queue_; }

  [[nodiscard]] const std::string& name() const noexcept { return queue_.name(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return queue_.capacity(); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] bool is_closed() const noexcept { return queue_.is_closed(); }
  [[nodiscard]] queue_statistics statistics() const noexcept { return queue_.statistics(); }
  [[nodiscard]] std::exception_ptr failure_cause() const noexcept { return queue_.failure_cause(); }
  /// See queue_base.
  bool close() noexcept { return queue_.close(); }
  void close_and_cancel() noexcept { queue_.close_and_cancel(); }
  void fail(std::exception_ptr cause) noexcept { queue_.fail(std::move(cause)); }
  void describe(std::ostream& out) const { queue_.describe(out); }

 private:
  using push_copy_operation = typename Queue::push_copy_operation;
  using push_owned_operation =
      detail::push_owned_operation<tensor_tuple, typename Queue::push_many_operation>;
  using pop_many_operation = detail::pop_batch_operation<Queue, typename Queue::pop_many_operation>;
  using pop_up_to_operation =
      detail::pop_batch_operation<Queue, typename Queue::pop_up_to_operation>;
  template <class Operation>
  using awaiter = detail::queue_awaiter<Queue, Operation>;

  // What the blocking operations do.
  friend blocking_operations<tensor_queue, tensor_tuple, tensor_tuple, tensor_tuple>;
  template <class Operation>
  using blocking = detail::blocking_queue_call<Queue, Operation>;
  using location = std::source_location;
  bool block_push(tensor_tuple&& element, const wait_limit* limit, const location& where) {
    spec_.check(element, owner_);
    return queue_.block_push(std::move(element), limit, where);
  }
  bool block_push(const tensor_tuple& element, const wait_limit* limit, const location& where) {
    return queue_.block_push(checked(element), limit, where);
  }
  auto block_pop(const wait_limit* limit, const location& where) {
    return queue_.block_pop(limit, where);
  }
  auto block_push_many(tensor_tuple batch, const wait_limit* limit, const location& where) {
    return blocking<push_owned_operation>::run(queue_, limit, where, elements_of(batch));
  }
  auto block_pop_many(std::size_t count, const wait_limit* limit, const location& where) {
    return blocking<pop_many_operation>::run(queue_, limit, where, wanted(count), queue_, spec_);
  }
  auto block_pop_up_to(std::size_t count, const wait_limit* limit, const location& where) {
    return blocking<pop_up_to_operation>::run(queue_, limit, where, wanted(count), queue_, spec_);
  }

  // By reference: a token may keep what it is given until it begins.
  template <class Operation, class Token>
  auto initiate_batch(std::size_t count, const std::source_location& where, Token&& token) {
    return detail::initiate<Operation>(queue_, where, std::forward<Token>(token), wanted(count),
                                       std::ref(queue_), std::cref(spec_));
  }

  [[nodiscard]] tensor_tuple checked(tensor_tuple element) const {
    spec_.check(element, owner_);
    return element;
  }
  [[nodiscard]] std::vector<tensor_tuple> elements_of(tensor_tuple& batch) const {
    static_cast<void>(spec_.check_batch(batch, owner_));
    return unstack(batch);
  }
  [[nodiscard]] std::size_t wanted(std::size_t count) const {
    spec_.check_stackable(owner_);
    if (count <= PTRDIFF_MAX) return count;
    throw failure(errc::invalid_argument, owner_ + ": a batch of " + std::to_string(count) +
                                              " elements was asked for: that was negative once");
  }

  const element_spec spec_;
  Queue queue_;
  const std::string owner_;  // "queue 'name'", for messages
};

}  // namespace leat
