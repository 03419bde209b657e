// A oneshot between threads: its two ends send, receive and leave in any order. The end that leaves
// last destroys the block and a value that was not received.

#include "leat/sync/oneshot.hpp"

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/block_on.hpp"
#include "leat/async/task_group.hpp"
#include "model/scheduler.hpp"

namespace oneshot_model {

// A value that its destructor writes once more. Relacy detects accesses that nothing orders.
class value {
 public:
  explicit value(unsigned n) : data_(std::make_unique<model::guarded<unsigned>>(n)) {}
  value(value&&) noexcept = default;
  value& operator=(value&&) noexcept = default;
  ~value() {
    if (data_) data_->set(0);
  }
  [[nodiscard]] unsigned get() const { return data_->get(); }
  [[nodiscard]] bool is_gone() const noexcept { return data_ == nullptr; }

 private:
  std::unique_ptr<model::guarded<unsigned>> data_;
};
using oneshot = leat::oneshot<value>;

// The two ends, whose block must not be destroyed before the last access to it.
struct checked_oneshot : oneshot {
  checked_oneshot() { model::checks_destruction = true; }
};

bool send_seven(oneshot::sender& sender) {
  value v(7);
  const bool sent = sender.send(std::move(v));
  model::require(v.is_gone() == sent, "a value is in two places or in none");
  return sent;
}

enum class action { send, leave };
enum class reaction { receive, try_receive, leave };

// One thread sends or leaves, the other one receives or leaves.
template <action first, reaction second>
class two_ends final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      if (first == action::send) sent_ = send_seven(ends_.tx);
      ends_.tx = {};
      return;
    }
    std::optional<value> v;
    if (second == reaction::receive) v = leat::block_on(ends_.rx.receive());
    if (second == reaction::try_receive) v = ends_.rx.try_receive();
    ends_.rx = {};
    received_ = v && v->get() == 7;
    model::require(received_ == v.has_value(), "a wrong value was received");
  }
  void finish() override {
    model::require(sent_ || !received_, "a value was received that was not sent");
    if (second != reaction::receive) return;
    model::require(sent_ == (first == action::send), "a receiver was there, and a send failed");
    model::require(received_ == sent_, "the value was lost");
  }

  checked_oneshot ends_;
  bool sent_ = false;
  bool received_ = false;
};

// A sender that finds out that the receiver has left, without a wait.
class polled final : public model::program {
  void thread(unsigned index) override {
    if (index == 1) {
      ends_.rx = {};
      return;
    }
    while (!ends_.tx.is_closed()) model::yield();
    model::require(!send_seven(ends_.tx), "sent to no receiver");
    ends_.tx = {};
  }
  checked_oneshot ends_;
};

// A task that receives, against a send or a leave and a stop. It leaves at its end.
template <action first>
class stopped_receive final : public model::driven_program {
 public:
  stopped_receive() { spawn(receive(std::move(ends_.rx), received_, cancelled_)); }

 private:
  static leat::task<void> receive(oneshot::receiver from, bool& received, bool& cancelled) {
    auto [ec, v] = co_await leat::as_tuple(from.receive());
    received = v && v->get() == 7;
    cancelled = static_cast<bool>(ec);
    model::require(!received || !cancelled, "a cancelled receive has taken the value");
  }
  void other_thread(unsigned index) override {
    if (index == 2) {
      group_.request_stop();
      return;
    }
    if (first == action::send) sent_ = send_seven(ends_.tx);
    ends_.tx = {};
  }
  void finish() override {
    require_ended();
    model::require(received_ || cancelled_ || first == action::leave, "the value was lost");
    model::require(sent_ || !received_, "a value was received that was not sent");
  }

  checked_oneshot ends_;
  bool sent_ = false;
  bool received_ = false;
  bool cancelled_ = false;
};

// A task that waits in closed(), against a receiver that leaves and a stop. It then sends.
class stopped_closed final : public model::driven_program {
 public:
  stopped_closed() { spawn(wait(std::move(ends_.tx), cancelled_, sent_)); }

 private:
  static leat::task<void> wait(oneshot::sender to, bool& cancelled, bool& sent) {
    const auto [ec] = co_await leat::as_tuple(to.closed());
    cancelled = static_cast<bool>(ec);
    sent = send_seven(to);
  }
  void other_thread(unsigned index) override {
    if (index == 1) {
      ends_.rx = {};
    } else {
      group_.request_stop();
    }
  }
  void finish() override {
    require_ended();
    model::require(cancelled_ || !sent_, "closed() returned before the receiver has left");
  }

  checked_oneshot ends_;
  bool cancelled_ = false;
  bool sent_ = false;
};

// As above without a stop.
class closed_without_stop final : public model::driven_program {
 public:
  closed_without_stop() { spawn(wait(std::move(ends_.tx))); }

 private:
  static leat::task<void> wait(oneshot::sender to) {
    co_await to.closed();
    model::require(to.is_closed() && !send_seven(to), "the receiver has not left");
  }
  void other_thread(unsigned) override { ends_.rx = {}; }
  void finish() override { require_ended(); }

  checked_oneshot ends_;
};

constexpr auto bounded = model::test::search::bounded;
using model::make;

const model::test tests[] = {
    {"oneshot: send against receive", 2, make<two_ends<action::send, reaction::receive>>, bounded},
    {"oneshot: send against try_receive", 2, make<two_ends<action::send, reaction::try_receive>>,
     bounded},
    {"oneshot: send against a receiver that leaves", 2,
     make<two_ends<action::send, reaction::leave>>, bounded},
    {"oneshot: receive against a sender that leaves", 2,
     make<two_ends<action::leave, reaction::receive>>, bounded},
    {"oneshot: both ends leave", 2, make<two_ends<action::leave, reaction::leave>>, bounded},
    {"oneshot: is_closed against a receiver that leaves", 2, make<polled>},
    {"oneshot: closed against a receiver that leaves", 2, make<closed_without_stop>, bounded},
    {"oneshot: receive against a send and a stop", 3, make<stopped_receive<action::send>>},
    {"oneshot: receive against a sender that leaves and a stop", 3,
     make<stopped_receive<action::leave>>},
    {"oneshot: closed against a receiver that leaves and a stop", 3, make<stopped_closed>},
};

}  // namespace oneshot_model
