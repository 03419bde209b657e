#include "leat/input/queue_runner_def.hpp"

#include "leat/coordination/queue_runner.hpp"
#include "leat/input/queue_runner_resolver.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/hex.hpp"
#include "support/leat_test.hpp"

namespace queue_runner_def_test {

using namespace std::string_literals;
using leat::queue_runner_def;
using leat_test::from_hex;

queue_runner_def round_trip_definition() {
  return {.queue_name = "queue",
          .enqueue_op_names = {"enqueue"},
          .close_op_name = "close",
          .cancel_op_name = "cancel",
          .queue_closed_errors = {errc::out_of_range, errc::cancelled}};
}

std::string damage_in(std::string_view bytes) {
  return refusal([&] { return queue_runner_def::from_bytes(bytes); }, errc::data_loss);
}

TEST_CASE("queue_runner_def: the bytes are those of the protobuf message") {
  CHECK(round_trip_definition().to_bytes() ==
        from_hex("0a0571756575651207656e71756575651a05636c6f7365220663616e63656c2a020b01"));
  CHECK(queue_runner_def().to_bytes().empty());
}

TEST_CASE("queue_runner_def: is restored from its bytes with the order of the errors") {
  const queue_runner_def def = round_trip_definition();
  CHECK(queue_runner_def::from_bytes(def.to_bytes()) == def);
  queue_runner_def odd;
  odd.enqueue_op_names = {"", "\xC3\xA4/\xF0\x9F\x98\x80", std::string(300, 'x')};
  odd.queue_closed_errors = {static_cast<errc>(-1), static_cast<errc>(1 << 30), errc::aborted};
  CHECK(queue_runner_def::from_bytes(odd.to_bytes()) == odd);
  CHECK(queue_runner_def::from_bytes("") ==
        queue_runner_def{.queue_closed_errors = {errc::out_of_range}});
}

TEST_CASE("queue_runner_def: reads unpacked and packed errors, and fields in any order") {
  const auto def = queue_runner_def::from_bytes(from_hex("280b2a020104280a0a01610a0162"));
  CHECK(def.queue_closed_errors == std::vector<errc>{errc::out_of_range, errc::cancelled,
                                                     errc::deadline_exceeded, errc::aborted});
  CHECK(def.queue_name == "b");  // the last value wins
}

TEST_CASE("queue_runner_def: skips unknown fields of every wire type") {
  const std::string known = from_hex("0a0161");
  for (const char* unknown : {
           "3096ffffffffffffffff01",  // a number in field 6
           "390102030405060708",      // eight bytes
           "3203616263",              // a run of bytes
           "3d01020304",              // four bytes
           "33083b083c34",            // a group that contains a number
           "0801", "2d01020304",
           "fa070161"  // the queue as a number, errors as four bytes, field 127
       }) {
    INFO(unknown);
    const auto def = queue_runner_def::from_bytes(known + from_hex(unknown));
    CHECK(def.queue_name == "a");
    CHECK(def.queue_closed_errors == std::vector<errc>{errc::out_of_range});  // the default
  }
}

TEST_CASE("queue_runner_def: has the default errors if field 5 is missing") {
  const queue_runner_def old{.queue_name = "queue", .enqueue_op_names = {"enqueue"}};
  const auto def = queue_runner_def::from_bytes(old.to_bytes());
  CHECK(def.queue_closed_errors == std::vector<errc>{errc::out_of_range});
  CHECK(queue_runner_def::from_bytes(def.to_bytes()) == def);
}

TEST_CASE("queue_runner_def: rejects corrupt bytes with the offset of the field") {
  CHECK(contains(damage_in(from_hex("0a05717565")), "at offset 0"));
  const struct {
    const char* hex;
    const char* what;
  } damaged[] = {
      {"0a01610a", "truncated or overlong number"},
      {"0a01612affffffff0f00", "length that exceeds"},
      {"0a016128ffffffffffffffffffff01", "truncated or overlong"},
      {"0a01610201", "field with number 0"},
      {"0a01618a8080808000", "overlong tag or length"},
      {"0a01610a81808080800061", "overlong tag or length"},
      {"0a01613900", "truncated field"},
      {"0a01613d00", "truncated field"},
      {"0a01613630", "field of unknown wire type"},
      {"0a016134", "field of unknown wire type"},
      {"0a01613308013c", "group that ends with another"},
      {"0a0161330801", "truncated or overlong number"},
      {"0a01611201ff", "name that is not UTF-8"},
      {"0a01612a0180", "truncated or overlong number"},
  };
  for (const auto& d : damaged) {
    INFO(d.hex);
    const std::string said = damage_in(from_hex(d.hex));
    CHECK(contains(said, "at offset 3: "));
    CHECK(contains(said, d.what));
  }
  std::string deep;
  for (int i = 0; i < 101; ++i) deep += '\x33';
  for (int i = 0; i < 101; ++i) deep += '\x34';
  CHECK(contains(damage_in(deep), "groups nested too deeply"));
  CHECK_NOTHROW(queue_runner_def::from_bytes(deep.substr(1, 200)));
}

TEST_CASE("queue_runner_def: rejects names that are not UTF-8 in both directions") {
  queue_runner_def def = round_trip_definition();
  for (const std::string& bad : {"\x80"s, "\xC1\x81"s, "\xE0\x9F\x80"s, "\xED\xA0\x80"s,
                                 "\xF0\x8F\x80\x80"s, "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s,
                                 "\xC3"s, "\xE2\x82"s, "\xE2\x28\xA1"s, "a\xF0\x9F\x98!"s}) {
    def.close_op_name = bad;
    CHECK_FAILS(errc::invalid_argument, "not UTF-8", def.to_bytes());
    CHECK_FALSE(damage_in("\x0a" + std::string(1, static_cast<char>(bad.size())) + bad).empty());
  }
  for (const std::string& good : {"\xC2\x80"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s, "\xEF\xBF\xBF"s,
                                  "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s, "a\0b"s}) {
    def.close_op_name = good;
    CHECK(queue_runner_def::from_bytes(def.to_bytes()) == def);
  }
}

TEST_CASE("queue_runner_def: is exported from a scope, and imported into one") {
  const queue_runner_def def{.queue_name = "a/q",
                             .enqueue_op_names = {"a/b/enqueue", "elsewhere", "ab/x"},
                             .close_op_name = "a/close"};
  CHECK_FALSE(def.without_scope("b"));
  CHECK_FALSE(def.without_scope("a/q"));
  CHECK_FALSE(def.without_scope("a/"));
  const auto out = def.without_scope("a");
  REQUIRE(out);
  CHECK(*out == queue_runner_def{.queue_name = "q",
                                 .enqueue_op_names = {"b/enqueue", "elsewhere", "ab/x"},
                                 .close_op_name = "close"});
  CHECK(def.without_scope("") == def);
  const queue_runner_def in = out->with_scope("c/d");
  CHECK(in == queue_runner_def{.queue_name = "c/d/q",
                               .enqueue_op_names = {"c/d/b/enqueue", "c/d/elsewhere", "c/d/ab/x"},
                               .close_op_name = "c/d/close"});
  CHECK(def.with_scope("") == def);
}

TEST_CASE("queue_runner: converts to a definition and back") {
  leat::fifo_queue<int> queue(2, "queue");
  leat::queue_runner_resolver names;
  names.add_queue(queue);
  names.add_enqueue("enqueue", []() -> task<bool> { co_return false; });
  names.add_close("close", []() -> task<> { co_return; });
  names.add_close("cancel", []() -> task<> { co_return; });
  const queue_runner_def def = round_trip_definition();
  const auto runner = make_queue_runner(queue_runner_def::from_bytes(def.to_bytes()), names);
  CHECK(queue_runner_def::of(*runner) == def);
  CHECK(runner->name() == "queue_runner queue");
  const queue_runner_def old{.queue_name = "queue", .enqueue_op_names = {"enqueue"}};
  CHECK(queue_runner_def::of(*make_queue_runner(old, names)).queue_closed_errors ==
        std::vector<errc>{errc::out_of_range});
}

LEAT_TEST("queue_runner: created from a definition, it runs the named operations") {
  leat::fifo_queue<int> queue(2, "queue");
  leat::queue_runner_resolver names;
  int counter = 0;
  int square = 0;
  names.add_queue(queue);
  names.add_enqueue("count to 10", [&]() -> task<bool> { co_return ++counter < 10; });
  names.add_close("square", [&]() -> task<> {
    square = counter * counter;
    co_return;
  });
  leat::coordinator coord;
  const auto runner = make_queue_runner(
      queue_runner_def{
          .queue_name = "queue", .enqueue_op_names = {"count to 10"}, .close_op_name = "square"},
      names);
  runner->start(coord);
  co_await coord.join();
  CHECK(square == 100);
}

TEST_CASE("queue_runner: rejects an unusable definition and names the reason") {
  leat::fifo_queue<int> queue(2, "queue");
  leat::queue_runner_resolver names;
  names.add_queue(queue);
  names.add_enqueue("enqueue", []() -> task<> { co_return; });
  queue_runner_def def{.queue_name = "queue", .enqueue_op_names = {"one", "two"}};
  CHECK_FAILS(errc::not_found, "enqueue operation 'one' is not registered",
              make_queue_runner(def, names));
  def.enqueue_op_names = {"enqueue"};
  CHECK_NOTHROW(make_queue_runner(def, names));
  def.close_op_name = "shut";
  CHECK_FAILS(errc::not_found, "close operation 'shut'", make_queue_runner(def, names));
  def.close_op_name = "";
  def.cancel_op_name = "drop";
  CHECK_FAILS(errc::not_found, "close operation 'drop'", make_queue_runner(def, names));
  def.cancel_op_name = "";
  def.queue_closed_errors = {errc::out_of_range, static_cast<errc>(17)};
  CHECK_FAILS(errc::invalid_argument, "17 in queue_closed_errors is not an error code",
              make_queue_runner(def, names));
  def.queue_closed_errors = {static_cast<errc>(0)};
  CHECK_FAILS(errc::invalid_argument, "0 in queue_closed_errors is not an error code",
              make_queue_runner(def, names));
  def.enqueue_op_names.clear();
  CHECK_FAILS(errc::invalid_argument, "queue_runner_def 'queue': no enqueue operation: add a name",
              make_queue_runner(def, names));
  def.queue_name = "other";
  def.enqueue_op_names = {"enqueue"};
  CHECK_FAILS(errc::not_found, "queue 'other'", make_queue_runner(def, names));
  def.queue_name = "";
  CHECK_FAILS(errc::invalid_argument, "no queue name: set queue_name",
              make_queue_runner(def, names));
}

TEST_CASE("queue_runner_resolver: rejects a name that is already registered") {
  leat::fifo_queue<int> queue(2, "queue");
  leat::fifo_queue<int> nameless(2);
  leat::queue_runner_resolver names;
  const auto step = []() -> task<bool> { co_return false; };
  const auto close = []() -> task<> { co_return; };
  names.add_queue(queue);
  names.add_enqueue("queue", step);  // another kind may use the name
  names.add_close("queue", close);
  CHECK(&names.find_queue("queue") == &queue);
  CHECK(refusal([&] { names.add_queue(queue); }, errc::already_exists)
            .starts_with("queue 'queue' is already registered: use a different name"));
  CHECK((code_of([&] { names.add_enqueue("queue", step); }) == errc::already_exists));
  CHECK((code_of([&] { names.add_close("queue", close); }) == errc::already_exists));
  CHECK(refusal([&] {
          names.add_queue(nameless);
        }).starts_with("queue has no name: register it under a non-empty name"));
  CHECK((code_of([&] { names.add_enqueue("", step); }) == errc::invalid_argument));
  CHECK_FALSE(names.find_close("").run);
}

}  // namespace queue_runner_def_test
