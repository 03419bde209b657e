#include "leat/sim/world/delivery_log.hpp"

#include <catch2/catch.hpp>

#include "leat/sim/world/world.hpp"

namespace delivery_log_test {

using leat::sim::delivery_log;
using leat::sim::invariant_violation;

TEST_CASE("delivery_log: a consistent log passes check_complete()") {
  delivery_log book("jobs");
  for (std::uint64_t id = 0; id < 6; ++id) book.record_push(id % 2, id);
  book.record_rejected(5);
  book.record_pop(0, 0);
  book.record_pop(1, 1);
  book.record_pop(1, 2);
  book.record_pop(0, 3);
  CHECK(book.taken() == 4);
  book.check_complete(1);
  book.record_pop(0, 4);
  book.check_complete();
}

TEST_CASE("delivery_log: names a lost item") {
  delivery_log book("jobs");
  book.record_push(7, 42);
  CHECK_THROWS_WITH(book.check_complete(), Catch::Contains("delivery log 'jobs'") &&
                                               Catch::Contains("item 42 of producer 7"));
  book.check_complete(1);
}

TEST_CASE("delivery_log: rejects an item that arrives twice or was never pushed") {
  delivery_log book("jobs");
  book.record_push(0, 1);
  book.record_pop(3, 1);
  CHECK_THROWS_WITH(book.record_pop(4, 1), Catch::Contains("was delivered to consumer 4") &&
                                               Catch::Contains("after an earlier delivery"));
  CHECK_THROWS_WITH(book.record_pop(4, 2), Catch::Contains("but was never pushed"));
  CHECK_THROWS_AS(book.record_push(0, 1), invariant_violation);
  CHECK_THROWS_WITH(book.record_rejected(1),
                    Catch::Contains("was rejected, but a consumer received it"));
}

TEST_CASE("delivery_log: requires each producer's order at a consumer, unless ordered is false") {
  delivery_log ordered("fifo");
  delivery_log shuffled("shuffled", false);
  for (delivery_log* book : {&ordered, &shuffled}) {
    for (std::uint64_t id = 0; id < 3; ++id) book->record_push(0, id);
    book->record_pop(1, 1);
    book->record_pop(2, 0);  // several consumers record in any order
  }
  ordered.record_push(0, 3);
  ordered.record_pop(1, 3);
  CHECK_THROWS_WITH(ordered.record_pop(1, 2), Catch::Contains("after a later item"));
  shuffled.record_pop(1, 2);
  shuffled.check_complete();
}

}  // namespace delivery_log_test
