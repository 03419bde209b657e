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

#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/basic_queue.hpp"
#include "leat/queue/detail/blocking_names.hpp"
#include "leat/queue/detail/tensor_queue_operations.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/stacking.hpp"
#include "leat/tensor/tensor_tuple.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// A queue of tensor tuples with shapes, called elements, which it accepts and delivers one by one
/// or in batches.
///
/// It wraps a Queue of tensor_tuple, such as random_shuffle_queue<tensor_tuple>. Queue must declare
/// `options_type` and `kind` as random_shuffle_queue does. The queue accepts only elements that
/// match its spec. For other elements the call itself throws invalid_argument, in every form, and
/// the queue does not change. A batch has one tensor for each component. Dimensions that the spec
/// leaves unknown are padded to the largest of the batch; see stack().
///
///     using leat::dtype;
///     leat::element_spec spec({{.type = dtype::int64, .shape = {leat::unknown_dimension}}});
///     leat::tensor_queue<leat::random_shuffle_queue<leat::tensor_tuple>> samples(
///         spec, leat::shuffle_options{.capacity = 1000, .min_after_dequeue = 500});
///     co_await samples.push(leat::tensor_tuple(sentence));                      // [n] each
///     while (auto batch = co_await samples.pop_many(32)) learn((*batch)[0]);    // [32, longest n]
///
/// If Queue has a weight function, such as element_byte_size, it also limits the weight of its
/// elements. Pushing a batch computes the weight of each of its elements.
///
/// If the spec has names, pushed elements and batches must have these names, in any order.
/// Delivered ones have them too; see tensor_tuple::named().
///
/// See basic_queue for the contract: order of service, cancellation, closing and thread safety.
///
/// Errors: every push throws invalid_argument, from the call, for an element that does not match.
/// TensorFlow: QueueBase with dtypes, shapes and names.
template <class Queue>
class tensor_queue : public detail::blocking_names<tensor_queue<Queue>> {
 public:
  using value_type = tensor_tuple;
  using options_type = typename Queue::options_type;
  static constexpr const char* kind = Queue::kind;  ///< for messages

  /// Creates the Queue from `queue_arguments`. Errors: the errors of Queue's constructor.
  template <class... QueueArguments>
  explicit tensor_queue(element_spec spec, QueueArguments&&... queue_arguments)
      : spec_(std::move(spec)),
        queue_(std::forward<QueueArguments>(queue_arguments)...),
        owner_("queue '" + queue_.name() + "'") {}

  /// Returns the spec that the elements match.
  [[nodiscard]] const element_spec& spec() const noexcept { return spec_; }

  // ---- One element: see basic_queue. A push may reorder named components.

  /// Adds an element, waiting while the queue is full.
  [[nodiscard]] awaits<bool> auto push(
      tensor_tuple&& element, std::source_location where = std::source_location::current()) {
    spec_.check(element, owner_);
    return queue_.push(std::move(element), where);
  }
  [[nodiscard]] awaits<bool> auto push(
      const tensor_tuple& element, std::source_location where = std::source_location::current()) {
    return await_operation<push_copy_operation>(where, &queue_, checked(element));
  }

  /// Removes the next element, as it was pushed, without padding. Waits while the queue is empty.
  [[nodiscard]] awaits<std::optional<tensor_tuple>> auto pop(
      std::source_location where = std::source_location::current()) noexcept {
    return queue_.pop(where);
  }

  /// Adds an element without waiting.
  [[nodiscard]] bool try_push(tensor_tuple&& element) {
    spec_.check(element, owner_);
    return queue_.try_push(std::move(element));
  }
  [[nodiscard]] bool try_push(const tensor_tuple& element) {
    return queue_.try_push(checked(element));
  }

  /// Removes the next element without waiting.
  [[nodiscard]] std::optional<tensor_tuple> try_pop() noexcept { return queue_.try_pop(); }

  /// Adds an element like push(), with an Asio completion token.
  ///
  /// Completion: void(asio_error_code, bool); see basic_queue::async_push().
  template <asio::completion_token_for<void(asio_error_code, bool)> Token>
  auto async_push(tensor_tuple element, Token&& token,
                  std::source_location where = std::source_location::current()) {
    spec_.check(element, owner_);
    return queue_.async_push(std::move(element), std::forward<Token>(token), where);
  }

  /// Removes the next element like pop(), with an Asio completion token.
  ///
  /// Completion: void(asio_error_code, std::optional<tensor_tuple>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<tensor_tuple>)> Token>
  auto async_pop(Token&& token, std::source_location where = std::source_location::current()) {
    return queue_.async_pop(std::forward<Token>(token), where);
  }

  // ---- Batches.

  /// Adds the elements of a batch as one contiguous sequence, waiting for free capacity as often as
  /// needed. All components must have the same size in dimension 0.
  ///
  /// Returns the number of elements added; see basic_queue::push_many().
  ///
  /// Cost: the call copies the elements from the batch.
  [[nodiscard]] awaits<std::size_t> auto push_many(
      tensor_tuple batch, std::source_location where = std::source_location::current()) {
    return await_operation<push_owned_operation>(where, &queue_, elements_of(batch));
  }

  /// Removes `count` elements as one batch, waiting until it has all of them; see
  /// basic_queue::pop_many(). A count of 0 returns an empty batch immediately. Its unknown
  /// dimensions are 0.
  ///
  /// Errors: the errors of basic_queue::pop_many(). For a component of unknown rank the call itself
  ///         throws invalid_argument, even for a count of 0. If there is no memory for the batch:
  ///         std::bad_alloc, or invalid_argument if 64 bits cannot hold its size. The elements then
  ///         return to the front of the queue; without memory for that they are lost, and the
  ///         queue fails.
  /// Cost:   two passes over the shapes of the elements and one over their values, when the caller
  ///         receives the batch; one allocation for each component.
  [[nodiscard]] awaits<std::optional<tensor_tuple>> auto pop_many(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return await_operation<pop_many_operation>(where, &queue_, wanted(count), spec_);
  }

  /// Removes `count` elements like pop_many(), or the remaining elements if the queue is closed.
  /// See basic_queue::pop_up_to().
  [[nodiscard]] awaits<std::optional<tensor_tuple>> auto pop_up_to(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return await_operation<pop_up_to_operation>(where, &queue_, wanted(count), spec_);
  }

  /// Adds the first elements of a batch, as many as possible without waiting, as one contiguous
  /// sequence. Returns their number, which is 0 if the queue is full or closed or if other pushes
  /// are waiting.
  ///
  /// Cost: copies all elements from the batch, even those that are not added.
  [[nodiscard]] std::size_t try_push_many(tensor_tuple batch) {
    std::vector<tensor_tuple> items_to_push = elements_of(batch);
    return queue_.try_push_many(items_to_push);
  }

  /// Removes `count` elements as one batch without waiting. Returns the batch, or an empty optional
  /// if fewer elements are available or other pops are waiting; then no element is removed.
  ///
  /// Errors: invalid_argument and std::bad_alloc, as in pop_many().
  [[nodiscard]] std::optional<tensor_tuple> try_pop_many(std::size_t count) {
    return queue_.try_batch(pop_many_operation(&queue_, wanted(count), spec_));
  }

  /// Removes the available elements as one batch, up to `count`, from an open or closed queue.
  /// Returns the batch, or an empty optional if no element is available or other pops are waiting.
  ///
  /// Errors: invalid_argument and std::bad_alloc, as in pop_many().
  [[nodiscard]] std::optional<tensor_tuple> try_pop_up_to(std::size_t count) {
    return queue_.try_batch(pop_up_to_operation(&queue_, wanted(count), spec_));
  }

  /// Adds the elements of a batch like push_many(), with an Asio completion token. Copies the
  /// elements from the batch before it returns.
  ///
  /// Completion: void(asio_error_code, std::size_t); see basic_queue::async_push_many().
  template <asio::completion_token_for<void(asio_error_code, std::size_t)> Token>
  auto async_push_many(tensor_tuple batch, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return initiate<push_owned_operation>(where, std::forward<Token>(token), &queue_,
                                          elements_of(batch));
  }

  /// Removes `count` elements like pop_many(), with an Asio completion token. The batch is created
  /// on the handler's executor. If that fails, the handler receives the code of the error that
  /// pop_many() would throw, and the elements return to the queue.
  ///
  /// Completion: void(asio_error_code, std::optional<tensor_tuple>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<tensor_tuple>)> Token>
  auto async_pop_many(std::size_t count, Token&& token,
                      std::source_location where = std::source_location::current()) {
    return initiate_batch<pop_many_operation>(count, where, std::forward<Token>(token));
  }

  /// Removes up to `count` elements like pop_up_to(), with an Asio completion token; see
  /// async_pop_many().
  ///
  /// Completion: void(asio_error_code, std::optional<tensor_tuple>)
  template <asio::completion_token_for<void(asio_error_code, std::optional<tensor_tuple>)> Token>
  auto async_pop_up_to(std::size_t count, Token&& token,
                       std::source_location where = std::source_location::current()) {
    return initiate_batch<pop_up_to_operation>(count, where, std::forward<Token>(token));
  }

  // ---- The members of every queue: see queue_base.

  /// Returns the queue as a queue_base, for classes that work with any queue, such as queue_runner.
  operator queue_base&() noexcept { return queue_; }
  operator const queue_base&() const noexcept { return queue_; }

  /// Returns the name of the queue; see queue_base::name().
  [[nodiscard]] const std::string& name() const noexcept { return queue_.name(); }
  /// Returns the maximum number of stored elements, or `unbounded`.
  [[nodiscard]] std::size_t capacity() const noexcept { return queue_.capacity(); }
  /// Returns the number of stored elements; see queue_base::size().
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  /// Returns true once a close has taken effect.
  [[nodiscard]] bool is_closed() const noexcept { return queue_.is_closed(); }
  /// Returns a consistent snapshot of the counters.
  [[nodiscard]] queue_statistics statistics() const noexcept { return queue_.statistics(); }
  /// Returns the error passed to fail(), or null if the queue has not failed.
  [[nodiscard]] std::exception_ptr failure_cause() const noexcept { return queue_.failure_cause(); }
  /// Closes the queue after all pushes that wait now; see queue_base::close().
  bool close() noexcept { return queue_.close(); }
  /// Closes the queue immediately, and cancels waiting pushes; see queue_base::close_and_cancel().
  void close_and_cancel() noexcept { queue_.close_and_cancel(); }
  /// Closes the queue immediately with an error; see queue_base::fail().
  void fail(std::exception_ptr cause) noexcept { queue_.fail(std::move(cause)); }
  /// Writes the name and the fullness of the queue; see queue_base::describe().
  void describe(std::ostream& out) const { queue_.describe(out); }

 private:
  using push_copy_operation = typename Queue::push_copy_operation;
  using push_owned_operation =
      detail::push_owned_operation<tensor_tuple, typename Queue::push_many_operation>;
  using pop_many_operation = detail::pop_batch_operation<typename Queue::pop_many_operation>;
  using pop_up_to_operation = detail::pop_batch_operation<typename Queue::pop_up_to_operation>;

  // Passes references, because a token may keep its arguments until it starts the operation.
  template <class Operation, class Token>
  auto initiate_batch(std::size_t count, const std::source_location& where, Token&& token) {
    return initiate<Operation>(where, std::forward<Token>(token), &queue_, wanted(count),
                               std::cref(spec_));
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
    throw failure(errc::invalid_argument, owner_ + ": batch of " + std::to_string(count) +
                                              " elements is too large: check for a conversion from "
                                              "a negative number");
  }

  const element_spec spec_;
  Queue queue_;
  const std::string owner_;  // "queue 'name'", for messages
};

}  // namespace LEAT
