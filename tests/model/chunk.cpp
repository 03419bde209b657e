// chunk_reference: a chunk returns to the pool only after the last read of it, whichever thread
// releases it last.

#include "leat/io/stream/detail/chunk.hpp"

#include "model/model.hpp"

namespace chunk_model {

using leat::detail::chunk_pool;
using leat::detail::chunk_reference;

// Two consumers read a shared chunk and release it. The reader takes the next chunk from the pool,
// writes to it if it is the same one, and closes the pool.
class reading final : public model::program {
 public:
  reading() {
    shared_[0] = pool_->take();
    shared_[1] = shared_[0];
    memory_ = shared_[0]->body();
    content_.set(1);
  }

 private:
  void thread(unsigned index) override {
    if (index < shared_.size()) {
      const chunk_reference mine = std::move(shared_[index]);
      const chunk_reference copy = mine;
      model::require(content_.get() == 1, "memory was written during a read");
    } else {
      const chunk_reference next = pool_->take();
      if (next->body() == memory_) content_.set(2);
      pool_->close();  // the last release, here or in a consumer, frees the pool
    }
  }

  chunk_pool* const pool_ = chunk_pool::make(1, 4096, 4096);
  std::array<chunk_reference, 2> shared_;
  const std::byte* memory_ = nullptr;
  model::guarded<unsigned> content_;  // of the chunk's memory
};

const model::test test("chunk: two consumers release memory that the reader reuses", 3,
                       model::make<reading>);

}  // namespace chunk_model
