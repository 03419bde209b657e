#include "leat/async/dump/dump.hpp"

#include <sstream>

#include "async/manual_event.hpp"
#include "base/text/json_writer.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define LEAT_HAVE_JSON_PARSER 1
#endif

namespace dump_json_test {

using leat_test::manual_event;

std::string written(std::string_view text) {
  std::ostringstream out;
  leat::detail::json_writer(out).value(text);
  return out.str();
}

TEST_CASE("json_writer: separates members and elements, and nothing else") {
  std::ostringstream out;
  leat::detail::json_writer json(out);
  json.begin_object().member("a", "x").key("b").begin_array();
  json.value(std::uint64_t{1}).value(std::uint64_t{2}).begin_array().end_array().end_array();
  json.member("c", true).key("d").null().key("e").begin_object().end_object().end_object();
  CHECK(out.str() == R"({"a":"x","b":[1,2,[]],"c":true,"d":null,"e":{}})");
}

TEST_CASE("json_writer: writes milliseconds with three decimals") {
  std::ostringstream out;
  leat::detail::json_writer json(out);
  json.begin_array().milliseconds(3204).milliseconds(7).milliseconds(-1050).end_array();
  CHECK(out.str() == "[3.204,0.007,-1.050]");
}

TEST_CASE("json_writer: escapes quotes, backslashes and control characters") {
  CHECK(written("a\"b\\c\n\x01\x7F") == R"("a\"b\\c\u000A\u0001\u007F")");
  CHECK(written(std::string_view("\0", 1)) == R"("\u0000")");
}

TEST_CASE("json_writer: copies valid UTF-8") {
  for (const char* text : {"\u00e9", "\u20ac", "\U0001F600", "\u0800", "\uD7FF", "\U0010FFFF"}) {
    CHECK(written(text) == "\"" + std::string(text) + "\"");
  }
}

TEST_CASE("json_writer: escapes a byte that is not valid UTF-8") {
  CHECK(written("caf\xE9") == R"("caf\\xE9")");
  CHECK(written("\xC0\xAF") == R"("\\xC0\\xAF")");                    // overlong
  CHECK(written("\xE0\x80\x80") == R"("\\xE0\\x80\\x80")");           // overlong
  CHECK(written("\xED\xA0\x80") == R"("\\xED\\xA0\\x80")");           // a surrogate
  CHECK(written("\xF4\x90\x80\x80") == R"("\\xF4\\x90\\x80\\x80")");  // above U+10FFFF
  CHECK(written("\xE2\x82") == R"("\\xE2\\x82")");                    // cut short
  CHECK(written("\xE2\x82 ") == R"("\\xE2\\x82 ")");
}

#ifdef LEAT_HAVE_JSON_PARSER

using nlohmann::json;

json dump() {
  const std::string text = leat_test::dump(leat::dump_format::json);
  CHECK(text.find('\n') == text.size() - 1);  // one line
  return json::parse(text);
}

// Returns the element with that name from an array.
json named(const json& array, const std::string& name) {
  for (const json& element : array) {
    if (element.at("name") == name) return element;
  }
  FAIL("no task has the name " << name);
  return {};
}

TEST_CASE("json_writer: writes valid JSON for any byte in a name") {
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x22, 0x61, 0x80, 0xA0, 0xBF, 0xE9}) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      CHECK(json::accept(written(text)));
    }
  }
}

task<void> read_file(manual_event& event) { co_await event.wait(); }
task<void> run_reader(manual_event& event) { co_await read_file(event); }

LEAT_TEST("dump: JSON lists scopes, tasks, waits and the await chain") {
  manual_event event("data");
  task_group group("readers");
  group.spawn(run_reader(event), "reader 0");
  co_await leat::sleep_for(3204ms);
  const json all = dump();
  event.set();
  co_await group.join();
  CHECK(all.at("schema") == 1);
  CHECK(all.at("schedulers_not_answering").empty());
  CHECK(all.at("cycles").empty());
  const json maker = all.at("scopes").at(0).at("tasks").at(0);
  CHECK(maker.at("state") == "running");
  CHECK(maker.at("wait").is_null());
  const json scope = named(maker.at("scopes"), "readers");
  CHECK(scope.at("kind") == "task group");
  CHECK(scope.at("stop_requested") == false);
  const json reader = named(scope.at("tasks"), "reader 0");
  CHECK(reader.at("state") == "waiting");
  CHECK(reader.at("id") == std::to_string(scope.at("id").get<int>()) + ".1");
  const json wait = reader.at("wait");
  CHECK(wait.at("verb") == "wait for");
  CHECK(wait.at("words") == "event 'data'");
  CHECK(wait.at("seconds") == 3.204);
  CHECK(wait.at("at").at("file") == "dump_json_test.cpp");
  CHECK(wait.at("at").at("function") == "dump_json_test::read_file");
  CHECK(wait.at("object").is_null());  // the event provides only a description
  REQUIRE(reader.at("awaited_at").size() == 1);
  CHECK(reader.at("awaited_at").at(0).at("function") == "dump_json_test::run_reader");
}

LEAT_TEST("dump: JSON names the scope of a join by its id") {
  manual_event event;
  task_group inner("inner"), outer("outer");
  inner.spawn(read_file(event));
  outer.spawn([](task_group& g) -> task<void> { co_await g.join(); }(inner), "joiner");
  co_await leat::this_task::yield();
  const json all = dump();
  event.set();
  co_await outer.join();
  const json scopes = all.at("scopes").at(0).at("tasks").at(0).at("scopes");
  const json object = named(named(scopes, "outer").at("tasks"), "joiner").at("wait").at("object");
  CHECK(object.at("type") == "task group");
  CHECK(object.at("name") == "inner");
  CHECK(object.at("scope") == named(scopes, "inner").at("id"));
}

LEAT_TEST("dump: JSON contains any name") {
  manual_event event;
  const std::string wild = "a\"\\\n\x01\xE9 \u20ac";
  task_group group(wild);
  group.spawn(read_file(event), "\xFF");
  co_await leat::this_task::yield();
  const json all = dump();
  event.set();
  co_await group.join();
  const json scopes = all.at("scopes").at(0).at("tasks").at(0).at("scopes");
  const json scope = named(scopes, "a\"\\\n\x01\\xE9 \u20ac");
  CHECK(scope.at("tasks").at(0).at("name") == "\\xFF");
}

#endif

}  // namespace dump_json_test
