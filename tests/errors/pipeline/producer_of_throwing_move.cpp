// expect: a queue moves its elements, and moving one must not throw
#include "leat/input/input_producer.hpp"

struct job {
  job() = default;
  job(const job&) {}
  job& operator=(const job&) { return *this; }
};
leat::input_producer<job> jobs({job(), job()});
