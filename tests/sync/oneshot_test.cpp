#include "leat/sync/oneshot.hpp"

#include <thread>

#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "support/tracked.hpp"
#include "sync/throwing_copy.hpp"

namespace oneshot_test {

using leat::oneshot;

auto settle() { return leat::sleep_for(1ms); }

task<> receive_into(oneshot<int>::receiver& receiver, std::optional<int>& out, bool& done) {
  out = co_await receiver.receive();
  done = true;
}

LEAT_TEST("oneshot: a value that was sent before is received") {
  auto [sender, receiver] = oneshot<int>("reply");
  CHECK(sender);
  CHECK(receiver);
  CHECK_FALSE(receiver.try_receive());
  CHECK_FALSE(sender.is_closed());
  CHECK(sender.send(7));
  CHECK_FALSE(sender);  // has left
  CHECK(co_await receiver.receive() == 7);
  CHECK_FALSE(co_await receiver.receive());
  CHECK_FALSE(receiver.try_receive());
}

LEAT_TEST("oneshot: a receiver that waits gets the value") {
  auto [sender, receiver] = oneshot<int>();
  std::optional<int> value;
  bool done = false;
  task_group group;
  group.spawn(receive_into(receiver, value, done));
  co_await settle();
  CHECK_FALSE(done);
  CHECK(sender.send(7));
  CHECK_FALSE(done);
  co_await group.join();
  CHECK(value == 7);
}

LEAT_TEST("oneshot: a sender that leaves without a value ends the wait") {
  auto [sender, receiver] = oneshot<int>();
  std::optional<int> value = 1;
  bool done = false;
  task_group group;
  group.spawn(receive_into(receiver, value, done));
  co_await settle();
  sender = {};
  co_await group.join();
  CHECK(done);
  CHECK_FALSE(value);
  CHECK_FALSE(receiver.try_receive());
  CHECK_FALSE(co_await receiver.receive());
}

TEST_CASE("oneshot: after the receiver has left, send returns false and does not move the value") {
  auto [sender, receiver] = oneshot<std::unique_ptr<int>>();
  receiver = {};
  CHECK(sender.is_closed());
  auto value = std::make_unique<int>(7);
  CHECK_FALSE(sender.send(std::move(value)));
  REQUIRE(value);
  CHECK(*value == 7);
  CHECK(sender);
  CHECK_FALSE(sender.send(std::move(value)));
}

LEAT_TEST("oneshot: a server can wait until the receiver leaves") {
  auto [sender, receiver] = oneshot<int>("reply");
  std::optional<oneshot<int>::receiver> client(std::move(receiver));
  int stopped = 0;
  task_group group;
  group.spawn([](oneshot<int>::sender s, int& n) -> task<> {
    const auto done = co_await leat::select(s.closed(), leat::sleep_for(1h));
    n += done.index() == 0 ? 1 : 0;
    CHECK(s.is_closed());
    co_await s.closed();  // immediately
  }(std::move(sender), stopped));
  co_await settle();
  CHECK(stopped == 0);
  client.reset();
  co_await group.join();
  CHECK(stopped == 1);
}

TEST_CASE("oneshot: the ends can be destroyed in any order") {
  leat_test::counts n;
  using channel = oneshot<leat_test::tracked>;
  for (const bool sent : {false, true}) {
    for (const bool sender_first : {false, true}) {
      channel c;
      std::optional<channel::sender> sender(std::move(c.tx));
      std::optional<channel::receiver> receiver(std::move(c.rx));
      if (sent) CHECK(sender->send(leat_test::tracked(n, 1)));
      CHECK(n.live == (sent ? 1 : 0));
      if (sender_first) {
        sender.reset();
        CHECK(n.live == (sent ? 1 : 0));
        receiver.reset();
      } else {
        receiver.reset();
        sender.reset();
      }
      CHECK(n.objects == 0);  // a value that was not received is destroyed
    }
  }
}

TEST_CASE("oneshot: the ends can be destroyed on two threads at the same time") {
  for (int round = 0; round < 300; ++round) {
    using channel = oneshot<std::shared_ptr<int>>;
    std::optional<channel> c(std::in_place, "reply");
    auto item = std::make_shared<int>(round);
    const std::weak_ptr<int> remains = item;
    std::thread server([sender = std::move(c->tx), sent = std::move(item), round]() mutable {
      if (round % 3 != 0) static_cast<void>(sender.send(std::move(sent)));
      sent = nullptr;
    });
    if (round % 2 == 0) {
      const auto value = leat::block_on(c->rx.receive());
      CHECK(value.has_value() == (round % 3 != 0));
    }
    c.reset();
    server.join();
    CHECK(remains.expired());
  }
}

LEAT_TEST("oneshot: the ends can be moved") {
  oneshot<int> first("first");
  oneshot<int> second("second");
  first.tx = std::move(second.tx);  // the sender of the first one leaves
  CHECK_FALSE(second.tx);
  CHECK_FALSE(co_await first.rx.receive());
  first.rx = std::move(second.rx);
  CHECK(first.tx.send(2));
  CHECK(first.rx.try_receive() == 2);
  oneshot<int>::sender nothing;
  oneshot<int>::receiver no_channel;
  CHECK_FALSE(nothing);
  CHECK_FALSE(no_channel);
}

TEST_CASE("oneshot: a copy that throws sends nothing") {
  using leat_test::throwing_copy;
  auto [sender, receiver] = oneshot<throwing_copy>();
  const throwing_copy value(7);
  throwing_copy::failures = 1;
  CHECK_THROWS_AS(sender.send(value), leat_test::copy_failed);
  CHECK(sender);
  CHECK_FALSE(receiver.try_receive());
  CHECK(sender.send(value));
  throwing_copy::failures = 1;
  CHECK(receiver.try_receive()->number == 7);  // moved
  throwing_copy::failures = 0;
}

task<> own_receiver(oneshot<int>::receiver receiver, bool& done) {
  co_await receiver.receive();
  done = true;
}
TEST_CASE("oneshot: a task that is destroyed with its receiver tells the sender") {
  for (const bool woken : {false, true}) {
    oneshot<int> reply("reply");
    bool done = false;
    leat_test::asio_loop loop;
    task_group group;
    group.spawn_on(loop.get_scheduler(), own_receiver(std::move(reply.rx), done));
    loop.run_ready();
    if (woken) CHECK(reply.tx.send(1));
    loop.end();
    CHECK(leat_test::is_cancelled(group));
    CHECK_FALSE(done);
    if (!woken) {
      CHECK(reply.tx.is_closed());
      CHECK_FALSE(reply.tx.send(1));
    }
  }
}

task<> own_sender(oneshot<int>::sender sender) { co_await sender.closed(); }
TEST_CASE("oneshot: a task that is destroyed with its sender tells the receiver") {
  oneshot<int> reply("reply");
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), own_sender(std::move(reply.tx)));
  loop.run_ready();
  loop.end();
  CHECK(leat_test::is_cancelled(group));
  CHECK_FALSE(leat::block_on(reply.rx.receive()));
}

TEST_CASE("oneshot: a second send returns false and keeps the value") {
  oneshot<std::string> c;
  CHECK(c.tx.send("first"));
  std::string second = "second";
  CHECK_FALSE(c.tx.send(std::move(second)));
  CHECK(second == "second");
  CHECK(c.tx.is_closed());
  CHECK(c.rx.try_receive() == "first");
}

TEST_CASE("oneshot: misuse of an end ends the process with a message") {
  CHECK(contains(leat_test::abort_message([] {
                   oneshot<int> c;
                   auto receiver = std::move(c.rx);
                   static_cast<void>(c.rx.try_receive());
                 }),
                 "receiver of a oneshot used after it was moved from"));
  for (const bool is_sender : {false, true}) {
    CHECK(contains(leat_test::abort_message([is_sender] {
                     oneshot<int> c;
                     leat_test::embedded_loop loop;
                     task_group group;
                     struct waiting {
                       static task<> receive(oneshot<int>& of) { co_await of.rx.receive(); }
                       static task<> closed(oneshot<int>& of) { co_await of.tx.closed(); }
                     };
                     group.spawn_on(loop.get_scheduler(),
                                    is_sender ? waiting::closed(c) : waiting::receive(c));
                     loop.run_ready();
                     if (is_sender) {
                       c.tx = {};
                     } else {
                       c.rx = {};
                     }
                   }),
                   "end destroyed while its operation waits: join the waiting task "
                   "first"));
  }
}

}  // namespace oneshot_test
