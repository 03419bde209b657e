// Compares the samples of docs/dump_format.md with the output of dump(). Numbers that differ in
// each run are excluded.

#include <regex>

#include "leat/queue/fifo_queue.hpp"
#include "support/dump.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>

#include "support/leat_test.hpp"
#define LEAT_HAVE_JSON_PARSER 1
#endif

namespace dump_sample_test {

using leat::fifo_queue;

constexpr std::string_view text_sample = R"sample(
    //! [text]
    block_on, 1 task
      task spawned at reader.cpp:31 in run: running or ready to run
        task group 'readers', 1 task
          reader 0: push to queue 'lines' (4 of 4), at reader.cpp:14 in read_file, for 3.204 s
            awaited at reader.cpp:16 in run_reader
    queue 'lines' (4 of 4), 1 operation waits
      push of reader 0, at reader.cpp:14 in read_file
    //! [/text]
)sample";

[[maybe_unused]] constexpr std::string_view json_sample = R"sample(
    //! [json]
    {
      "schema": 1,
      "process": 4711,
      "scopes": [{
        "id": 1, "kind": "block_on", "name": "", "stop_requested": false,
        "tasks": [{
          "id": "1.1", "name": "task spawned at reader.cpp:31 in run",
          "spawned_at": {"file": "reader.cpp", "line": 31, "function": "run"},
          "scheduler": "0x7ffd8a5d9d80", "state": "running", "wait": null, "awaited_at": [],
          "scopes": [{
            "id": 2, "kind": "task group", "name": "readers", "stop_requested": false,
            "tasks": [{
              "id": "2.1", "name": "reader 0",
              "spawned_at": {"file": "reader.cpp", "line": 22, "function": "dump_of_reader"},
              "scheduler": "0x7ffd8a5d9d80", "state": "waiting",
              "wait": {
                "verb": "push to", "words": "queue 'lines' (4 of 4)",
                "at": {"file": "reader.cpp", "line": 14, "function": "read_file"},
                "seconds": 3.204,
                "object": {
                  "type": "queue", "name": "lines",
                  "size": 4, "capacity": 4, "asked": 1, "done": 0, "closed": false
                }
              },
              "awaited_at": [{"file": "reader.cpp", "line": 16, "function": "run_reader"}],
              "scopes": []
            }],
            "threads": []
          }]
        }],
        "threads": []
      }],
      "schedulers_not_answering": [],
      "queues": [{
        "name": "lines", "words": "queue 'lines' (4 of 4)",
        "size": 4, "capacity": 4, "closed": false, "close_waits": false, "refused": 0,
        "waiting": [{
          "verb": "push", "waiter": "task", "name": "reader 0", "id": "2.1", "select": false,
          "at": {"file": "reader.cpp", "line": 14, "function": "read_file"},
          "asked": 1, "done": 0
        }]
      }],
      "primitives": [],
      "cycles": []
    }
    //! [/json]
)sample";

task<> read_file(fifo_queue<std::string>& lines) {
  for (;;) co_await lines.push("line");
}
task<> run_reader(fifo_queue<std::string>& lines) { co_await read_file(lines); }

// Returns the dump of a reader that waits for free capacity.
task<std::string> dump_of_reader(leat::dump_format format) {
  fifo_queue<std::string> lines(4, "lines");
  task_group readers("readers");
  readers.spawn(run_reader(lines), "reader 0");
  while (lines.statistics().waiting_pushes == 0) co_await leat::this_task::yield();
  std::string text = leat_test::dump(format);
  lines.close_and_cancel();
  readers.request_stop();
  co_await readers.join();
  co_return text;
}

// Returns the dump with the names of the samples.
std::string run(leat::dump_format format) {
  std::string text = leat::block_on(dump_of_reader(format));
  text = std::regex_replace(text, std::regex("dump_sample_test\\.cpp"), "reader.cpp");
  return std::regex_replace(text, std::regex("dump_sample_test::"), "");
}

// Removes the markers and the indentation.
std::string contents(std::string_view sample) {
  const std::string text = std::regex_replace(std::string(sample), std::regex(" *//![^\n]*\n"), "");
  return std::regex_replace(text, std::regex("(^|\n)    "), "$1").substr(1);
}

// Replaces the numbers that differ in each run.
std::string normalize(const std::string& text) {
  const std::string places = std::regex_replace(text, std::regex("cpp:\\d+"), "cpp:1");
  return std::regex_replace(places, std::regex("\\d+\\.\\d+ s"), "1.000 s");
}

TEST_CASE("dump: prints the text of docs/dump_format.md") {
  CHECK(normalize(run(leat::dump_format::text)) == normalize(contents(text_sample)));
}

#ifdef LEAT_HAVE_JSON_PARSER

using nlohmann::json;

void normalize(json& value) {
  if (value.is_string()) value = normalize(value.get<std::string>());
  if (value.is_object()) {
    for (const char* key : {"process", "id", "scheduler", "line", "seconds"}) {
      if (value.contains(key)) value[key] = 0;
    }
  }
  if (!value.is_structured()) return;
  for (json& element : value) normalize(element);
}

TEST_CASE("dump: prints the JSON of docs/dump_format.md") {
  json printed = json::parse(run(leat::dump_format::json));
  json sample = json::parse(contents(json_sample));
  normalize(printed);
  normalize(sample);
  CHECK(printed == sample);
}

#endif

}  // namespace dump_sample_test
