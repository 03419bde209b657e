// thread_mutex: one thread holds it at a time and sees the writes of the previous owner.

#include "leat/base/internal/thread_mutex.hpp"

#include "model/model.hpp"

namespace thread_mutex_model {

template <unsigned threads, unsigned visits>
class visitors final : public model::program {
  void thread(unsigned) override {
    for (unsigned i = 0; i < visits; ++i) {
      const leat::detail::thread_lock lock(mutex_);
      count_.set(count_.get() + 1);
    }
  }
  void finish() override { model::require(count_.get() == threads * visits, "a visit was lost"); }

  leat::detail::thread_mutex mutex_;
  model::guarded<unsigned> count_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"thread_mutex: two threads, two visits each", 2, make<visitors<2, 2>>, bounded},
    {"thread_mutex: three threads", 3, make<visitors<3, 2>>},
};

}  // namespace thread_mutex_model
