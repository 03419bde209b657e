/// SQLite in leat tasks, as a model of a library that blocks: its calls run on the threads of a
/// pool of their own, and a stop interrupts them.

#include <chrono>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>

#include <leat/leat.hpp>
#include <sqlite3.h>

namespace {

using namespace std::chrono_literals;

struct close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using database = std::unique_ptr<sqlite3, close>;

//! [query]
// Returns the first column of the first row. Blocks until then, or until a stop is requested.
std::string query(sqlite3* db, const std::string& sql, std::stop_token stop) {
  const auto is_stopped = [](void* token) -> int {
    return static_cast<std::stop_token*>(token)->stop_requested();
  };
  sqlite3_progress_handler(db, 1000, is_stopped, &stop);  // each 1,000 instructions
  std::string text;
  const auto store = [](void* out, int, char** values, char**) {
    if (values[0]) *static_cast<std::string*>(out) = values[0];
    return 1;  // no more rows
  };
  const int status = sqlite3_exec(db, sql.c_str(), store, &text, nullptr);
  sqlite3_progress_handler(db, 0, nullptr, nullptr);
  if (status == SQLITE_INTERRUPT) throw leat::failure(leat::errc::cancelled, "query");
  if (status != SQLITE_OK && status != SQLITE_ABORT)  // SQLITE_ABORT: `store` has returned 1
    throw leat::failure(leat::errc::unknown, std::string("query: ") + sqlite3_errmsg(db));
  return text;
}

leat::task<std::string> query_in(leat::blocking_pool& threads, sqlite3* db, std::string sql) {
  co_return co_await leat::run_blocking(
      threads, [&](std::stop_token stop) { return query(db, sql, std::move(stop)); });
}
//! [/query]

leat::task<> run_program() {
  //! [pool]
  // One thread, because a connection executes one query at a time.
  leat::blocking_pool threads({.threads = 1, .name = "sqlite"});
  sqlite3* opened = nullptr;
  sqlite3_open(":memory:", &opened);
  const database db(opened);
  const std::string version = co_await query_in(threads, db.get(), "select sqlite_version()");
  const std::string endless =
      "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
  const auto slow =
      co_await leat::as_tuple(leat::with_timeout(query_in(threads, db.get(), endless), 100ms));
  //! [/pool]
  std::cout << (version.empty() ? "no version" : "version") << ", then " << slow.error.message()
            << std::endl;
  std::cout << co_await query_in(threads, db.get(), "select 6 * 7") << std::endl;
}

}  // namespace

int main() { return leat::run(run_program); }
