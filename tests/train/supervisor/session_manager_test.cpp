// Sessions, as TensorFlow's SessionManager makes them.

#include "train/supervisor/session_manager.hpp"

#include <functional>

#include "leat/sim/world/world.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "train/in_world.hpp"

namespace session_manager_test {

using leat::checkpoint_registry;
using leat::session;
using leat::session_manager_options;
using leat::detail::restore_source;
using leat::detail::session_manager;
using leat_test::in_world;
using names = std::vector<std::string>;

// The names of the calls in order, and the number of open sessions.
struct calls {
  names made;
  int open = 0;
  int opened = 0;

  auto note(std::string name) {
    return [this, name](session&) -> task<void> {
      made.push_back(name);
      co_return;
    };
  }
  auto answer(std::string name, names missing) {
    return [this, name, missing](session&) -> task<names> {
      made.push_back(name);
      co_return missing;
    };
  }
  std::function<task<session>()> counted() {
    return [this]() -> task<session> {
      ++open;
      ++opened;
      co_return session(nullptr, [this]() -> task<void> {
        --open;
        co_return;
      });
    };
  }
};

TEST_CASE(
    "session_manager: calls init, init_fn, ready_for_local_init, local_init and ready in order "
    "[45]",
    "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    calls c;
    session_manager_options o;
    o.init = c.note("init");
    o.init_fn = c.note("init_fn");
    o.local_init = c.note("local_init");
    o.ready = c.answer("ready", {});
    o.ready_for_local_init = c.answer("gate", {});
    session_manager m(o);
    session s = co_await m.prepare_session(restore_source());
    co_await s.close();
    CHECK((c.made == names{"init", "init_fn", "gate", "local_init", "ready"}));
  });
}

TEST_CASE("session_manager: keeps the values without a checkpoint and an initialisation [46]",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    std::int64_t v = 1;
    checkpoint_registry state;
    state.add("v", v);
    auto saver = co_await leat::saver::open("/run", state);
    session_manager m;
    restore_source from;
    from.from = &saver;
    from.wait_for_checkpoint = true;
    from.max_wait = 2s;
    const auto begin = w.thread(0).now();
    session kept = co_await m.prepare_session(from);
    co_await kept.close();
    CHECK(v == 1);
    CHECK(w.thread(0).now() - begin >= 2s);
    CHECK(w.thread(0).now() - begin < 3s);

    co_await saver.save();
    v = 7;
    calls c;
    session_manager_options o;
    o.init = c.note("init");
    session_manager with_init(o);
    session s = co_await with_init.prepare_session(from);
    co_await s.close();
    CHECK(v == 1);
    CHECK(c.made.empty());
  });
}

TEST_CASE("session_manager: names variables that init did not initialise [47]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    calls c;
    session_manager_options o;
    o.open = c.counted();
    o.init = c.note("init");
    o.ready = c.answer("ready", {"w", "x"});
    session_manager m(o);
    const std::string why =
        co_await message_of(m.prepare_session(restore_source()), errc::failed_precondition);
    CHECK(
        contains(why, "Init operations did not make model ready. Variables not initialized: w, x"));
    CHECK(c.open == 0);
    CHECK(c.opened == 1);
  });
}

TEST_CASE("session_manager: local_init alone is enough [49]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    std::vector<int> local;
    session_manager_options o;
    o.local_init = [&](session&) -> task<void> {
      local = {1, 2, 3};
      co_return;
    };
    session_manager m(o);
    session s = co_await m.prepare_session(restore_source());
    CHECK((local == std::vector<int>{1, 2, 3}));
    local.clear();
    session other = co_await m.wait_for_session(leat::duration::max(), restore_source());
    CHECK((local == std::vector<int>{1, 2, 3}));
  });
}

TEST_CASE("session_manager: rejects ready_for_local_init without local_init [50]", "[train]") {
  calls c;
  session_manager_options o;
  o.ready_for_local_init = c.answer("gate", {});
  CHECK_FAILS(errc::invalid_argument,
              "If you pass a ready_for_local_init_op you must also pass a local_init_op",
              session_manager(o));
}

TEST_CASE("session_manager: rejects a recovery_wait that is not positive", "[train]") {
  session_manager_options o;
  o.recovery_wait = 0s;
  CHECK_FAILS(errc::invalid_argument, "session_manager_options::recovery_wait is not positive",
              session_manager(o));
}

TEST_CASE(
    "session_manager: calls local_init after ready_for_local_init, with the initialised state [51]",
    "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    int v = 0;
    int w = 0;
    int x = 0;
    session_manager_options o;
    o.init = [&](session&) -> task<void> {
      v = 1;
      co_return;
    };
    o.ready_for_local_init = [&](session&) -> task<names> {
      names missing;
      if (v == 0) missing.emplace_back("v");
      co_return missing;
    };
    o.local_init = [&](session&) -> task<void> {
      w = v;
      x = 3 * v;
      co_return;
    };
    session_manager m(o);
    session s = co_await m.prepare_session(restore_source());
    CHECK((v == 1 && w == 1 && x == 3));
  });
}

TEST_CASE(
    "session_manager: a state that never becomes ready fails the chief and ends a worker's wait "
    "[53]",
    "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    calls c;
    session_manager_options o;
    o.init = c.note("init");
    o.ready = c.answer("ready", {"v"});
    o.recovery_wait = 1s;
    session_manager m(o);
    CHECK(contains(
        co_await message_of(m.prepare_session(restore_source()), errc::failed_precondition),
        "did not make model ready"));
    CHECK(contains(
        co_await message_of(m.wait_for_session(3s, restore_source()), errc::deadline_exceeded),
        "Session was not ready after waiting 2 secs: the next attempt after a recovery_wait of 1 "
        "secs would exceed the limit of 3 secs. Variables not initialized: v"));
  });
}

TEST_CASE("session_manager: a worker opens a new session for each attempt [57]", "[train]") {
  struct expectation {
    leat::duration poll;
    leat::duration max;
    int attempts;
    const char* waited;
  };
  const std::vector<expectation> all{{1s, 3s, 3,
                                      "waiting 2 secs: the next attempt after a recovery_wait of 1 "
                                      "secs would exceed the limit of 3 secs. "},
                                     {5s, 3s, 1,
                                      "waiting 0 secs: the next attempt after a recovery_wait of 5 "
                                      "secs would exceed the limit of 3 secs. "}};
  for (const expectation& e : all) {
    in_world([&](leat::sim::world& w) -> task<> {
      calls c;
      session_manager_options o;
      o.open = c.counted();
      o.ready = c.answer("ready", {"v"});
      o.recovery_wait = e.poll;
      session_manager m(o);
      const auto begin = w.thread(0).now();
      const std::string why =
          co_await message_of(m.wait_for_session(e.max, restore_source()), errc::deadline_exceeded);
      CHECK(contains(why, e.waited));
      CHECK(c.opened == e.attempts);
      CHECK(c.open == 0);
      CHECK(w.thread(0).now() - begin < 3s);
    });
  }
  in_world([&](leat::sim::world& w) -> task<> {
    int asked = 0;
    session_manager_options o;
    o.ready = [&](session&) -> task<names> {
      names missing;
      if (++asked < 100) missing.emplace_back("v");
      co_return missing;
    };
    session_manager m(o);
    const auto begin = w.thread(0).now();
    session s = co_await m.wait_for_session(leat::duration::max(), restore_source());
    CHECK(asked == 100);
    CHECK(w.thread(0).now() - begin == 99 * 30s);
  });
}

TEST_CASE("session_manager: an error of the ready check means not ready or is thrown [58]",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    const auto failing = [](errc code, const char* text) {
      session_manager_options o;
      o.init = [](session&) -> task<void> { co_return; };
      o.ready = [=](session&) -> task<names> {
        if (code == errc::failed_precondition) throw leat::failure(code, text);
        throw leat::failure(code, text);
      };
      return session_manager(o);
    };
    auto not_ready = failing(errc::failed_precondition, "v is uninitialized");
    CHECK(contains(
        co_await message_of(not_ready.prepare_session(restore_source()), errc::failed_precondition),
        "did not make model ready. v is uninitialized"));
    auto other = failing(errc::failed_precondition, "v is green");
    CHECK_FALSE(contains(
        co_await message_of(other.prepare_session(restore_source()), errc::failed_precondition),
        "did not make model ready"));
    auto lost = failing(errc::unavailable, "v is uninitialized");
    CHECK(contains(co_await message_of(lost.prepare_session(restore_source()), errc::unavailable),
                   "v is"));
  });
}

TEST_CASE("session_manager: a worker restores the checkpoint of its chief", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    std::int64_t v = 42;
    checkpoint_registry state;
    state.add("v", v);
    auto chief = co_await leat::saver::open("/run", state);
    std::int64_t own = 0;
    checkpoint_registry copy;
    copy.add("v", own);
    auto worker = co_await leat::saver::open("/run", copy);
    session_manager m;
    restore_source from;
    from.from = &worker;
    CHECK(contains(co_await message_of(m.wait_for_session(60s, from), errc::deadline_exceeded),
                   "no checkpoint in '/run': check that the chief is running"));
    co_await chief.save();
    session s = co_await m.wait_for_session(60s, from);
    CHECK(own == 42);
    static_cast<void>(w);
  });
}

// The chief saves a newer checkpoint and deletes the one that the worker has read in the state
// file, before the worker opens it.
task<> read_while_another_saves(std::size_t kept, bool strict) {
  std::int64_t chiefs = 1;
  std::int64_t workers = 0;
  checkpoint_registry of_chief;
  checkpoint_registry of_worker;
  of_chief.add("v", chiefs);
  of_worker.add("v", workers);
  int refused = 0;
  leat::saver_options o;
  o.max_to_keep = kept;
  o.strict = strict;
  o.on_skipped = [&](const std::string&, const std::exception_ptr&) { ++refused; };
  auto chief = co_await leat::saver::open("/run", of_chief, o);
  auto worker = co_await leat::saver::open("/run", of_worker, o);
  co_await chief.save(1);
  leat::task_group group;
  const std::function<task<>()> save = [&]() -> task<> {
    for (chiefs = 2; chiefs < 12; ++chiefs) {
      co_await chief.save(static_cast<std::uint64_t>(chiefs));
    }
  };
  group.spawn(save());
  session_manager m;
  restore_source from;
  from.from = &worker;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t before = workers;
    session s = co_await m.wait_for_session(1h, from);
    CHECK(workers >= before);
    co_await s.close();
  }
  co_await group.join();
  session s = co_await m.wait_for_session(1h, from);
  co_await s.close();
  CHECK(workers == 11);
  CHECK(refused == 0);
}

TEST_CASE("session_manager: a worker restores while the chief saves and deletes", "[train]") {
  constexpr std::uint64_t seeds = leat_test::slow_build ? 10 : 50;
  for (const std::size_t kept : {std::size_t{1}, std::size_t{2}}) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      INFO("seed " << seed << ", of which so many are kept: " << kept);
      leat::sim::world w(seed);
      w.run([&](leat::sim::world&) { return read_while_another_saves(kept, seed % 2 == 0); });
    }
  }
}

}  // namespace session_manager_test
