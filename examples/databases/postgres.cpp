/// PostgreSQL in leat tasks: `postgres CONNINFO COUNT` writes COUNT rows, one each 20 ms.
///
/// A query under a time limit is cancelled on the server, and its connection is used again. If the
/// server is lost, the program names the row that it could not write, and tries again. It makes at
/// most ten attempts for a row, which take about 5 s if the server is down. SIGTERM or SIGINT ends
/// it.

#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "postgres_pool.hpp"

namespace {

using namespace std::chrono_literals;

//! [limit]
leat::task<std::string> text_of(postgres::pool& pool, std::string sql) {
  auto connection = co_await leat::with_timeout(pool.acquire(), 5s);
  const postgres::result rows = co_await leat::with_timeout(connection->query(std::move(sql)), 10s);
  if (PQntuples(rows.get()) == 0) throw leat::failure(leat::errc::not_found, "query: no row");
  co_return PQgetvalue(rows.get(), 0, 0);
}

leat::task<> limit_a_query(postgres::pool& pool) {
  const std::string before = co_await text_of(pool, "select pg_backend_pid()");
  const auto slow =
      co_await leat::as_tuple(leat::with_timeout(text_of(pool, "select pg_sleep(60)"), 100ms));
  const std::string after = co_await text_of(pool, "select pg_backend_pid()");
  std::cout << "slow query: " << slow.error.message() << ", "
            << (before == after ? "same" : "another") << " connection" << std::endl;
}
//! [/limit]

//! [write]
leat::task<> write_row(postgres::pool& pool, int number) {
  auto connection = co_await pool.acquire();
  // The row may be there already: the connection may have been lost after it was written.
  co_await connection->query("insert into rows values ($1, $2) on conflict do nothing",
                             std::to_string(number), "row " + std::to_string(number));
}

leat::task<> write_rows(postgres::pool& pool, int count) {
  for (int number = 1; number <= count; ++number) {
    const auto report = [&](std::size_t, const std::exception_ptr& error, leat::duration) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        std::cerr << "row " << number << ": " << e.what() << std::endl;
      }
    };
    const auto attempt = [&]() -> leat::task<> {
      co_await leat::with_timeout(write_row(pool, number), 5s);
    };
    leat::retry_policy policy{.first_delay = 50ms, .max_delay = 1s, .on_retry = report};
    policy.retried =
        std::vector{leat::errc::aborted, leat::errc::unavailable, leat::errc::deadline_exceeded};
    co_await leat::retry(attempt, policy);  // at most ten attempts, the default
    co_await leat::sleep_for(20ms);
  }
}
//! [/write]

leat::task<> create_table(postgres::pool& pool) {
  auto connection = co_await pool.acquire();
  co_await connection->query("create table if not exists rows (number int primary key, text text)");
}

leat::task<> run_program(std::string conninfo, int count) {
  postgres::pool pool(std::move(conninfo), 4);
  co_await leat::with_timeout(create_table(pool), 10s);
  co_await limit_a_query(pool);
  for (const std::string sql :
       {"select wrong", "", "copy rows to stdout", "select 1 where false"}) {
    const auto wrong = co_await leat::as_tuple(text_of(pool, sql));
    std::cout << "'" << sql << "': " << wrong.error.message() << std::endl;
  }
  co_await write_rows(pool, count);
  std::cout << co_await text_of(pool, "select count(*) from rows") << " rows" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  const std::string_view text(argc == 3 ? argv[2] : "");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    std::cerr << "usage: postgres CONNINFO COUNT\n";
    return 2;
  }
  return leat::run([&] { return run_program(argv[1], count); });
}
