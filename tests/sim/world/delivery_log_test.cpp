#include "leat/sim/world/delivery_log.hpp"

#include <catch2/catch.hpp>

#include "leat/sim/world/world.hpp"

namespace delivery_log_test {

using leat::sim::ledger;
using leat::sim::violation;

TEST_CASE("ledger: books that balance settle", "[sim]") {
  ledger book("jobs");
  for (std::uint64_t id = 0; id < 6; ++id) book.offers(id % 2, id);
  book.refused(5);
  book.gets(0, 0);
  book.gets(1, 1);
  book.gets(1, 2);
  book.gets(0, 3);
  CHECK(book.taken() == 4);
  book.settle(1);
  book.gets(0, 4);
  book.settle();
}

TEST_CASE("ledger: an item that is lost is named", "[sim]") {
  ledger book("jobs");
  book.offers(7, 42);
  CHECK_THROWS_WITH(book.settle(),
                    Catch::Contains("ledger 'jobs'") && Catch::Contains("item 42 of producer 7"));
  book.settle(1);
}

TEST_CASE("ledger: an item that comes twice, or out of nowhere, is a violation", "[sim]") {
  ledger book("jobs");
  book.offers(0, 1);
  book.gets(3, 1);
  CHECK_THROWS_WITH(book.gets(4, 1), Catch::Contains("came to consumer 4") &&
                                         Catch::Contains("somebody has got it before"));
  CHECK_THROWS_WITH(book.gets(4, 2), Catch::Contains("never offered"));
  CHECK_THROWS_AS(book.offers(0, 1), violation);
  CHECK_THROWS_WITH(book.refused(1), Catch::Contains("was refused, yet somebody got it"));
}

TEST_CASE("ledger: a producer's items come to each consumer in order, unless it is told otherwise",
          "[sim]") {
  ledger ordered("fifo");
  ledger shuffled("shuffled", false);
  for (ledger* book : {&ordered, &shuffled}) {
    for (std::uint64_t id = 0; id < 3; ++id) book->offers(0, id);
    book->gets(1, 1);
    book->gets(2, 0);  // of several consumers any may be the first to say so
  }
  ordered.offers(0, 3);
  ordered.gets(1, 3);
  CHECK_THROWS_WITH(ordered.gets(1, 2), Catch::Contains("behind a later one"));
  shuffled.gets(1, 2);
  shuffled.settle();
}

}  // namespace delivery_log_test
