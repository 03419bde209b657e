// expect: queue element must be movable without throwing
#include "leat/input/input_producer.hpp"

struct job {
  job() = default;
  job(const job&) {}
  job& operator=(const job&) { return *this; }
};
leat::input_producer<job> jobs({job(), job()});
