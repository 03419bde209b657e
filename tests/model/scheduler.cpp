// scheduler: items from other threads run once each, one at a time. A post wakes a scheduler that
// is about to sleep.

#include "model/scheduler.hpp"

#include <deque>

namespace scheduler_model {

// Data of the scheduler: no two items access it at the same time, whichever thread runs them.
struct log {
  model::guarded<unsigned> count;
};

struct job : leat::work_item {
  explicit job(log& l) : owner(l) {
    run_ = [](leat::work_item& item) noexcept {
      auto& self = static_cast<job&>(item);
      self.owner.count.set(self.owner.count.get() + 1);
      self.seen = self.payload.get();
      ++self.times;
      leat::scheduler::current()->work_finished();
    };
  }
  log& owner;
  model::guarded<unsigned> payload;  // written by the posting thread
  unsigned seen = 0;
  unsigned times = 0;
};

std::deque<job> make_jobs(log& l, unsigned count) {
  std::deque<job> jobs;
  while (jobs.size() < count) jobs.emplace_back(l);
  return jobs;
}

void check(const std::deque<job>& jobs) {
  for (const job& j : jobs) {
    model::require(j.times == 1, j.times ? "an item ran twice" : "an item did not run");
    model::require(j.seen == 7, "an item ran before it was posted");
  }
}

// Threads that post two items each. The thread that finds the scheduler asleep runs it.
template <unsigned threads, std::size_t items_per_turn>
class bursts final : public model::program {
  static constexpr unsigned each = 2;

  void thread(unsigned index) override {
    for (unsigned i = 0; i < each; ++i) {
      job& j = jobs_[index * each + i];
      j.payload.set(7);
      scheduler_.post_and_run(j);
    }
  }
  void finish() override {
    check(jobs_);
    model::require(log_.count.get() == jobs_.size(), "two items ran at the same time");
  }

  log log_;
  std::deque<job> jobs_ = make_jobs(log_, threads* each);
  model::passed_scheduler scheduler_{items_per_turn};
};

// One thread drives the scheduler and sleeps between bursts, and two other threads post.
class sleepy final : public model::program {
 public:
  sleepy() {
    for (unsigned i = 0; i < 2 * each; ++i) scheduler_.work_started();
  }

 private:
  static constexpr unsigned each = 2;

  void thread(unsigned index) override {
    if (index == 0) {
      scheduler_.drive();
    } else {
      for (unsigned i = 0; i < each; ++i) {
        job& j = jobs_[(index - 1) * each + i];
        j.payload.set(7);
        scheduler_.post(j);
      }
    }
  }
  void finish() override { check(jobs_); }

  log log_;
  std::deque<job> jobs_ = make_jobs(log_, 2 * each);
  model::driven_scheduler scheduler_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"scheduler: two threads post and run", 2, make<bursts<2, 100>>, bounded},
    {"scheduler: two threads post and run, one item a turn", 2, make<bursts<2, 1>>, bounded},
    {"scheduler: three threads post and run", 3, make<bursts<3, 100>>},
    {"scheduler: two threads post to a sleeping one", 3, make<sleepy>},
};

}  // namespace scheduler_model
