// Consumers select among a fake Asio operation, a pop and a time limit. The world chooses when the
// operation completes, whether it notices its cancellation, and whether it has an effect anyway.
// Every item and every transfer arrives once.

#include <type_traits>
#include <variant>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>

#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

/// A device that hands out consecutive numbers; handing one out cannot be undone.
class device {
 public:
  explicit device(world& w) noexcept : world_(w) {}

  /// Completion: void(std::error_code, std::size_t), with a number from 1 on.
  template <class Token>
  auto async_transfer(Token&& token) {
    return asio::async_initiate<Token, void(std::error_code, std::size_t)>(
        [this](auto handler) { this->start(std::move(handler)); }, token);
  }

  /// Ends when no transfer is in progress.
  auto join() { return transfers_.join(); }
  [[nodiscard]] std::size_t transferred() const noexcept { return transferred_; }

 private:
  template <class Handler>
  struct transfer {
    transfer(device& d, Handler&& h) : self(d), handler(std::move(h)) {}
    void finish(std::error_code ec, std::size_t number) {
      if (std::exchange(over, true)) return;
      const auto executor = asio::get_associated_executor(handler);
      asio::post(executor, [h = std::move(handler), ec, number]() mutable { h(ec, number); });
    }
    void finish_here(std::error_code ec, std::size_t number) {
      over = true;
      handler(ec, number);
    }
    device& self;
    Handler handler;
    bool over = false;
  };

  template <class Handler>
  void start(Handler handler) {
    const auto t = std::make_shared<transfer<Handler>>(*this, std::move(handler));
    switch (world_.random().uniform_below(8)) {
      case 0: t->finish_here({}, ++transferred_); return;
      case 1: t->finish({}, ++transferred_); return;
      case 2: t->over = true; return;  // the handler is lost
      default: break;
    }
    asio::get_associated_cancellation_slot(t->handler).assign([t](asio::cancellation_type) {
      switch (t->self.world_.random().uniform_below(4)) {
        case 0: t->finish({}, t->over ? 0 : ++t->self.transferred_); break;
        case 1: break;  // not noticed
        default: t->finish(asio::error::make_error_code(asio::error::operation_aborted), 0);
      }
    });
    transfers_.spawn([](std::shared_ptr<transfer<Handler>> pending) -> task<> {
      world& w = pending->self.world_;
      co_await pause(w, 6);
      if (!pending->over) pending->finish({}, ++pending->self.transferred_);
    }(t));
  }

  world& world_;
  leat::task_group transfers_{"transfers"};
  std::size_t transferred_ = 0;
};

struct records {
  std::vector<std::size_t> transfers{};
  std::vector<int> pushed{};
  std::vector<int> popped{};
  int next = 0;

  void keep(int item) { popped.push_back(item); }
  void keep(const std::vector<int>& batch) {
    popped.insert(popped.end(), batch.begin(), batch.end());
  }
  void keep(const leat::tensor_tuple& element_or_batch) {
    for (const std::int64_t item : element_or_batch[0].values<std::int64_t>()) {
      popped.push_back(static_cast<int>(item));
    }
  }
};

template <class Queue>
auto item_of(int number) {
  if constexpr (std::is_same_v<Queue, leat::padding_fifo_queue>) {
    return leat::tensor_tuple(leat::tensor::scalar(std::int64_t{number}));
  } else {
    return number;
  }
}

template <class Queue>
task<> produce(world& w, Queue& q, records& book) {
  const std::uint64_t count = 1 + below(w, 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    co_await pause(w, 4);
    const int item = book.next++;
    const bool in = co_await q.push(item_of<Queue>(item));
    if (in) book.pushed.push_back(item);
  }
}

template <class Queue>
task<> consume(world& w, Queue& q, device& d, records& book) {
  const std::uint64_t count = 1 + below(w, 10);
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      const auto limit = 1us * below(w, 5);
      switch (below(w, 3)) {
        case 0: {
          const auto done = co_await leat::select(q.pop(), d.async_transfer(leat::use_task),
                                                  leat::sleep_for(limit));
          if (done.index() == 0 && std::get<0>(done)) book.keep(*std::get<0>(done));
          if (done.index() == 1) book.transfers.push_back(std::get<1>(done));
          break;
        }
        case 1: {
          const auto done = co_await leat::select(d.async_transfer(leat::use_task), q.pop_up_to(2));
          if (done.index() == 0) book.transfers.push_back(std::get<0>(done));
          if (done.index() == 1 && std::get<1>(done)) book.keep(*std::get<1>(done));
          break;
        }
        default: {
          const std::size_t number =
              co_await leat::with_timeout(d.async_transfer(leat::use_task), limit);
          book.transfers.push_back(number);
        }
      }
    } catch (const leat::failure& e) {
      require_early_end(e);
    }
  }
}

template <class Queue>
task<> transfer_and_pop(world& w, Queue& q) {
  w.add_invariants(q);
  records book;
  device d(w);
  leat::task_group producers("producers");
  leat::task_group consumers("consumers");
  // The device is thread-bound to the first thread, as an Asio object is to its context.
  for (int i = 0; i < 2; ++i) {
    producers.spawn_on(any_thread(w), produce(w, q, book), "producer");
    consumers.spawn_on(w.thread(0), consume(w, q, d, book), "consumer");
  }
  if (below(w, 3) == 0) {
    co_await pause(w, 12);
    if (below(w, 2) == 0) consumers.request_stop();
    if (below(w, 2) == 0) q.close();
  }
  const std::exception_ptr error =
      co_await join_and_close(consumers, producers, [&q] { q.close_and_cancel(); });
  co_await d.join();
  w.clear_invariants();
  if (error) std::rethrow_exception(error);
  while (const auto item = q.try_pop()) book.keep(*item);
  std::sort(book.transfers.begin(), book.transfers.end());
  require_same(book.popped, book.pushed);
  require(book.transfers.size() == d.transferred(), "transfers were lost or repeated");
  for (std::size_t i = 0; i < book.transfers.size(); ++i) {
    require(book.transfers[i] == i + 1, "a transfer was lost or repeated");
  }
}

template <class Order>
task<> transfer_in_order(world& w) {
  const auto capacity = 2 + below(w, 3);
  const auto minimum = below(w, capacity);
  typename Order::template queue<int> q(
      Order::options({.capacity = capacity, .min_after_dequeue = minimum, .seed = w.random()()}));
  co_await transfer_and_pop(w, q);
}

task<> transfer_tensors(world& w) {
  const leat::element_spec spec({{.type = leat::dtype::int64, .shape = {}}});
  leat::padding_fifo_queue q(spec, 2 + below(w, 3), "padded");
  co_await transfer_and_pop(w, q);
}

}  // namespace

task<> transferring(world& w) {
  if (below(w, 4) == 0) return transfer_tensors(w);
  return with_any_order(w, [&w](auto order) { return transfer_in_order<decltype(order)>(w); });
}

}  // namespace simulation
