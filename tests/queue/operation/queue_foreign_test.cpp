#include <stop_token>

#include "queue/operation/queue_actors.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

// Queues that a foreign coroutine awaits.

namespace queue_foreign_test {

using leat_test::foreign_coroutine;

foreign_coroutine pop_into(leat::fifo_queue<int>& q, std::optional<int>& to, bool& ended) {
  to = co_await q.pop();
  ended = true;
}

foreign_coroutine pop_until_error(leat::fifo_queue<int>& q, std::string& what) {
  try {
    static_cast<void>(co_await q.pop());
  } catch (const leat::failure& e) {
    what = e.what();
  }
}

foreign_coroutine pop_until_stop(leat::fifo_queue<int>& q, std::stop_token token, int& sum,
                                 bool& cancelled) {
  try {
    for (;;) sum += (co_await leat::with_stop(q.pop(), token)).value();
  } catch (const leat::failure& e) {
    cancelled = e.code() == errc::cancelled;
  }
}

foreign_coroutine nap(bool& ended) {
  co_await leat::sleep_for(std::chrono::milliseconds(1));
  ended = true;
}

LEAT_TEST("queue: a foreign coroutine pops an available item at once") {
  leat::fifo_queue<int> q(2);
  CHECK(q.try_push(7));
  std::optional<int> item;
  bool ended = false;
  const foreign_coroutine f = pop_into(q, item, ended);
  CHECK(ended);
  CHECK(item == 7);
  f.handle.destroy();
  co_return;
}

LEAT_TEST("queue: a waiting foreign coroutine receives the cause of a failure") {
  leat::fifo_queue<int> q(1);
  std::string what;
  const foreign_coroutine f = pop_until_error(q, what);
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
  co_await settle();
  CHECK(contains(what, "a.txt is damaged"));
  f.handle.destroy();
}

LEAT_TEST("queue: a stop token stops a foreign coroutine, which loses no item") {
  leat::fifo_queue<int> q(2);
  std::stop_source source;
  int sum = 0;
  bool cancelled = false;
  const foreign_coroutine f = pop_until_stop(q, source.get_token(), sum, cancelled);
  CHECK(q.try_push(1));
  CHECK(q.try_push(2));
  co_await settle();
  CHECK(sum == 3);
  source.request_stop();
  CHECK(q.try_push(4));  // before the coroutine resumes: it was cancelled and takes no item
  co_await settle();
  CHECK(cancelled);
  CHECK(sum == 3);
  CHECK(q.try_pop() == 4);
  f.handle.destroy();
}

LEAT_TEST("queue: destroying a waiting coroutine lets later operations advance") {
  leat::fifo_queue<int> q(4);
  std::optional<int> never;
  bool ended = false;
  const foreign_coroutine first = pop_into(q, never, ended);
  actors a(q);
  const outcome& second = a.pop();
  co_await settle();
  first.handle.destroy();
  CHECK(q.statistics().waiting_pops == 1);
  CHECK(co_await q.push(7));
  co_await a.join();
  CHECK(second.items == std::vector<int>{7});
  CHECK_FALSE(ended);
}

LEAT_TEST("sleep: a foreign coroutine can sleep and be destroyed during the sleep") {
  bool ended = false;
  bool never = false;
  const foreign_coroutine f = nap(ended);
  const foreign_coroutine gone = nap(never);
  gone.handle.destroy();
  co_await leat::sleep_for(std::chrono::milliseconds(2));
  CHECK(ended);
  CHECK_FALSE(never);
  f.handle.destroy();
}

}  // namespace queue_foreign_test
