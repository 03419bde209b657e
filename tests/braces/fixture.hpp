#pragma once

// The calls of functions that take options and return an awaitable. generate.py finds the functions
// and requires a macro for each. Each call must succeed with the options of a "needs" line, or
// without options.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/loop/completion_tokens.hpp"
#include "leat/leat.hpp"
#include "leat/net.hpp"
#include "leat/sim.hpp"
#include "leat/tensorflow.hpp"
#include "leat/tls/tls_options.hpp"
#include "support/temp_dir.hpp"

namespace leat_braces {

template <class T>
inline constexpr bool is_braced = false;
template <class T>
inline constexpr bool is_braced<leat::braced<T>> = true;

// Types that g++ 12 may copy byte by byte and destroy twice without harm. An aggregate is checked
// member by member.
template <class T>
inline constexpr bool is_safe =
    (std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>) || is_braced<T> ||
    std::is_aggregate_v<T>;

template <class T>
leat::task<T> value_later() {
  co_return T();
}

template <class R>
struct value {
  static R get() { return R(); }
};
template <class T>
struct value<leat::task<T>> {
  static leat::task<T> get() { return value_later<T>(); }
};

struct any_result {
  template <class R>
  operator R() const {
    return value<R>::get();
  }
};

// Converts to a function of any type that owns memory.
struct any_function {
  std::string held = "a text that is too long to be kept in the string itself";

  template <class... Any>
  any_result operator()(Any&&...) const {
    return {};
  }
};

// Converts to a pointer of any type that owns an object and is null.
struct any_owner {
  std::shared_ptr<std::string> held = std::make_shared<std::string>("owned");

  template <class T>
  operator std::shared_ptr<T>() const {
    return std::shared_ptr<T>(held, nullptr);
  }
};

// The arguments of the calls. Each case has its own fixture.
struct fixture {
  temp_dir directory;
  std::string lines = directory.write("lines.txt", "one\ntwo\nthree\n");
  std::string records = directory / "records.tfrecord";
  std::string fresh = directory / "fresh";
  std::string long_text = "a text that is too long to be kept in the string itself";
  any_function callable;
  any_owner owner;
  std::stop_source stop;
  std::function<leat::task<>()> body = any_function();
  std::function<leat::task<>(leat::coordinator&)> in_coordinator = any_function();
  std::function<leat::task<>(leat::event_writer&)> in_writer = any_function();
  std::function<leat::task<>(leat::session&)> in_session = any_function();
  std::optional<leat::tfrecord_index> index;
  std::optional<leat::event_writer> added;
  std::shared_ptr<leat::quarantine_log> log;
  std::vector<double> weights = std::vector<double>(4);
  leat::checkpoint_registry registry;
  leat::task_group group{"case"};  // runs the case
  std::function<leat::task<>()> once = [this]() -> leat::task<> {
    group.request_stop();
    co_return;
  };
  leat::coordinator coord;
  leat::fifo_queue<int> numbers{leat::queue_options{.capacity = 4, .name = "numbers"}};
  leat::supervisor supervised{leat::supervisor_options{.logdir = directory / "logs",
                                                       .state = &registry,
                                                       .sessions = {.init = any_function()},
                                                       .write_events = false}};

  std::optional<leat::listener> listener;

  leat::task<> prepare() {
    registry.add("weights", weights);
    co_await leat::make_directories(directory / "logs");
    leat::tfrecord_writer writer = co_await leat::tfrecord_writer::open(records);
    co_await writer.write(leat::as_bytes("a record"));
    co_await writer.close();
    index = co_await leat::build_tfrecord_index(records);
    leat::event_writer events = co_await leat::event_writer::open(directory / "events");
    co_await events.add_scalar("loss", 0.5, 1);
    co_await events.close();
    added.emplace(co_await leat::event_writer::open(directory / "added"));
    log = co_await leat::quarantine_log::open(directory / "quarantine.json");
    static_cast<void>(numbers.try_push(1));
    numbers.close();
    listener = co_await leat::listen("127.0.0.1:0");
  }
};

inline leat::task<> close(leat::task<leat::event_writer> opening) {
  leat::event_writer writer = co_await std::move(opening);
  co_await writer.close();
}

// Accepts the failed_precondition of a supervisor without a writer.
inline leat::task<> refused(leat::task<> computed) {
  try {
    co_await std::move(computed);
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::failed_precondition) throw;
  }
}

struct test_case {
  const char* name;
  leat::task<> (*call)(fixture&);
  bool must_succeed;
};

inline leat::task<> prepare_and_call(const test_case& c, fixture& f) {
  co_await f.prepare();
  std::exception_ptr error;
  try {
    f.group.spawn(c.call(f));
    co_await f.group.join();
  } catch (...) {
    error = std::current_exception();
  }
  f.listener.reset();  // before its scheduler
  co_await f.supervised.stop();
  co_await f.added->close();
  if (error) std::rethrow_exception(error);
}

// A call may reject options that make no sense. The test checks that no member is destroyed twice.
inline int run(std::span<const test_case> cases) {
  int failed = 0;
  for (const test_case& c : cases) {
    std::fprintf(stderr, "%s", c.name);
    try {
      fixture f;
      leat::block_on(prepare_and_call(c, f));
      std::fputs("\n", stderr);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "\n    %s: %s\n", c.must_succeed ? "FAILED" : "refused", e.what());
      if (c.must_succeed) ++failed;
    }
  }
  std::fprintf(stderr, "%zu calls, %d failed\n", cases.size(), failed);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace leat_braces

// needs fixed_length_reader_options .record_size = 7
// needs file_source .files = {f.lines, f.lines}
// needs tfrecord_file_options .depth = 4
// needs coordinator_options .name = "named"
// needs prefetch_stage_options .blocks = 1
// needs shuffle_stage_options .capacity = 2
// needs batch_stage_options .batch_size = 2
// needs indexed_reader_options .shuffle = false

#define CALL_identity_reader_open(...) leat::identity_reader::open(f.lines, __VA_ARGS__)
#define CALL_indexed_reader_open(...) \
  leat::indexed_reader::open({f.records, f.records}, __VA_ARGS__)
#define CALL_basic_record_reader_open(reader, ...) leat::reader::open(f.lines, __VA_ARGS__)
#define CALL_basic_record_reader_open_tfrecord_reader(...) \
  leat::tfrecord_reader::open(f.records, __VA_ARGS__)
#define CALL_sharded_tfrecord_writer_open(...) \
  leat::sharded_tfrecord_writer::open(f.fresh, __VA_ARGS__)
#define CALL_tfrecord_appender_open(...) leat::tfrecord_appender::open(f.records, __VA_ARGS__)
#define CALL_tfrecord_file_open_2(...) leat::tfrecord_file::open(f.records, __VA_ARGS__)
#define CALL_tfrecord_file_open_3(...) \
  leat::tfrecord_file::open(f.records, std::move(*f.index), __VA_ARGS__)
#define CALL_tfrecord_writer_open(...) leat::tfrecord_writer::open(f.fresh, __VA_ARGS__)

#define CALL_quarantine_log_add(...) f.log->add(__VA_ARGS__)

#define CALL_match_files(...) leat::match_files({f.lines, f.records}, __VA_ARGS__)
#define CALL_read_files(...) \
  leat::read_files<leat::line_reader>(__VA_ARGS__).batch({.batch_size = 2}).next()
#define CALL_read_indexed(...) \
  leat::read_indexed({f.records, f.records}, __VA_ARGS__).batch({.batch_size = 2}).next()
#define CALL_read_queue(...) leat::read_queue(f.numbers, __VA_ARGS__).next()
#define CALL_pipeline_map(...) \
  leat::read_queue(f.numbers).map("map", [](int n) { return n; }, __VA_ARGS__).next()
#define CALL_pipeline_flat_map(...)                                              \
  leat::read_queue(f.numbers)                                                    \
      .flat_map(                                                                 \
          "flat_map", [](int n) { return std::vector<int>(2, n); }, __VA_ARGS__) \
      .next()
#define CALL_pipeline(stage, ...) leat::read_queue(f.numbers).stage(__VA_ARGS__).next()

#define CALL_connect_2(...) leat::connect(f.listener->local(), __VA_ARGS__)
#define CALL_connect_3(...) \
  leat::connect(leat::this_task::get_scheduler(), f.listener->local(), __VA_ARGS__)
#define CALL_async_connect(...)                                                           \
  leat::async_connect(leat::this_task::get_scheduler(), f.listener->local(), __VA_ARGS__, \
                      leat::use_task)
#define CALL_listen(...) leat::listen("127.0.0.1:0", __VA_ARGS__)
#define CALL_network_backend_connect(...)                     \
  leat::get_network_backend(leat::this_task::get_scheduler()) \
      .connect(f.listener->local(), __VA_ARGS__)

#define CALL_coordinator_join(...) f.coord.join(__VA_ARGS__)
#define CALL_with_coordinator(...) leat::with_coordinator(f.in_coordinator, __VA_ARGS__)
#define CALL_looper(...) leat::looper(f.once, __VA_ARGS__)

#define CALL_update_checkpoint_state_2(...) \
  leat::update_checkpoint_state(f.directory / "logs", __VA_ARGS__)
#define CALL_update_checkpoint_state_3(...) \
  leat::update_checkpoint_state(f.directory / "logs", __VA_ARGS__)
#define CALL_read_events(...) leat::read_events(f.directory / "events", __VA_ARGS__)
#define CALL_event_writer_open(...) \
  leat_braces::close(leat::event_writer::open(f.fresh, __VA_ARGS__))
#define CALL_event_writer_add_summary(...) f.added->add_summary(__VA_ARGS__)
#define CALL_event_writer_add_event(...) f.added->add_event(__VA_ARGS__)
#define CALL_with_event_writer(...) leat::with_event_writer(f.fresh, __VA_ARGS__, f.in_writer)
#define CALL_find_rank_checkpoints(...) \
  leat::find_rank_checkpoints({f.directory.path(), f.directory / "logs"}, __VA_ARGS__)
#define CALL_retry(...) leat::retry(f.body, __VA_ARGS__)
#define CALL_saver_open(...) leat::saver::open(f.fresh, f.registry, __VA_ARGS__)
#define CALL_supervisor_managed(...) f.supervised.managed(f.in_session, __VA_ARGS__)
#define CALL_supervisor_prepare_or_wait_for_session(...) \
  f.supervised.prepare_or_wait_for_session(__VA_ARGS__)
#define CALL_supervisor_summary_computed(...) \
  leat_braces::refused(f.supervised.summary_computed(leat::summary __VA_ARGS__))
#define CALL_supervisor_stop(...) f.supervised.stop(__VA_ARGS__)
