/// SQLite in leat tasks, as a model of a library that blocks: its calls run on the threads of a
/// pool of their own, and a stop interrupts them.

#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>
#include <sqlite3.h>

namespace {

using namespace std::chrono_literals;

struct closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using database = std::unique_ptr<sqlite3, closer>;

leat::failure error_of(sqlite3* db, const std::string& what) {
  return {leat::errc::unknown, what + ": " + sqlite3_errmsg(db)};
}

//! [query]
database open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open(path.c_str(), &opened);
  database db(opened);  // also after most errors
  if (status != SQLITE_OK) throw error_of(opened, "open " + path);
  sqlite3_busy_timeout(opened, 5000);  // waits for the locks of other processes
  return db;
}

// Ends a statement of its connection when a stop is requested.
struct stop_scope {
  stop_scope(sqlite3* d, std::stop_token t) : db(d), token(std::move(t)) {
    const auto is_stopped = [](void* stop) -> int {
      return static_cast<std::stop_token*>(stop)->stop_requested();
    };
    sqlite3_progress_handler(db, 1000, is_stopped, &token);  // each 1,000 instructions
  }
  stop_scope(const stop_scope&) = delete;
  stop_scope& operator=(const stop_scope&) = delete;
  ~stop_scope() { sqlite3_progress_handler(db, 0, nullptr, nullptr); }
  sqlite3* db;
  std::stop_token token;
};

// Runs one statement with the parameters ?1, ?2 and so on to its end, or until a stop is requested.
// Returns the first column of the first row.
std::string query(sqlite3* db, const std::string& sql, const std::vector<std::string>& parameters,
                  std::stop_token stop) {
  const stop_scope scope(db, std::move(stop));
  sqlite3_stmt* prepared = nullptr;
  int status = sqlite3_prepare_v2(db, sql.c_str(), -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, closer> statement(prepared);
  for (int i = 0; const std::string& p : parameters) {
    if (status != SQLITE_OK) break;
    status = sqlite3_bind_text(prepared, ++i, p.data(), static_cast<int>(p.size()), SQLITE_STATIC);
  }
  if (status != SQLITE_OK) throw error_of(db, "query");
  std::string text;
  for (bool is_first = true; (status = sqlite3_step(prepared)) == SQLITE_ROW; is_first = false) {
    const auto* const value = reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0));
    if (is_first && value)
      text.assign(value, static_cast<std::size_t>(sqlite3_column_bytes(prepared, 0)));
  }
  if (status == SQLITE_INTERRUPT) throw leat::failure(leat::errc::cancelled, "query");
  if (status != SQLITE_DONE) throw error_of(db, "query");
  return text;
}

leat::task<std::string> query_in(leat::blocking_pool& threads, sqlite3* db, std::string sql,
                                 std::vector<std::string> parameters = {}) {
  const auto run = [&](std::stop_token stop) {
    return query(db, sql, parameters, std::move(stop));
  };
  co_return co_await leat::run_blocking(threads, run);
}
//! [/query]

leat::task<> run_program() {
  //! [pool]
  // One thread, because a connection executes one query at a time.
  leat::blocking_pool threads({.threads = 1, .name = "sqlite"});
  database db = co_await leat::run_blocking(threads, [] { return open(":memory:"); });
  co_await query_in(threads, db.get(), "create table names (name text)");
  const std::string name =
      "Robert'); drop table names; --";  // a parameter is never part of the SQL
  const std::vector<std::string> parameters{name};
  const std::string added = co_await query_in(
      threads, db.get(), "insert into names values (?1) returning name", parameters);
  const std::string endless =
      "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
  const auto slow =
      co_await leat::as_tuple(leat::with_timeout(query_in(threads, db.get(), endless), 100ms));
  const std::string count = co_await query_in(threads, db.get(), "select count(*) from names");
  co_await leat::run_blocking(threads, [&db] { db.reset(); });  // may write, so not in the loop
  //! [/pool]
  std::cout << (added == name ? "added" : "changed") << ", then " << slow.error.message()
            << ", then " << count << " name" << std::endl;
}

}  // namespace

int main() { return leat::run(run_program); }
