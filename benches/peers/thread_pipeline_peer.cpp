// The pipeline of leat_pipeline_bench in the style of TensorFlow's input system. Threads read
// records, parse each with protobuf's generated code, and push it into a shuffling queue of a mutex
// and two condition variables. The consumer removes batches.
//
// It is tuned: the threads reuse the reader's buffer and the message, the queue notifies only if a
// thread waits, a batch is removed under one lock, and an element is three values that are moved.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "example.pb.h"
#include "support/bench.hpp"
#include "support/page_cache.hpp"
#include "support/record_loop.hpp"
#include "support/training_example.hpp"

namespace {

struct element {
  std::int64_t label = 0;
  std::vector<float> features;
  std::string image;
};

// Like random_shuffle_queue: removes a random element if more than the minimum size are left.
class shuffle_queue {
 public:
  shuffle_queue(std::size_t capacity, std::size_t minimum)
      : capacity_(capacity), minimum_(minimum) {
    items_.reserve(capacity);
  }

  void push(element e) {
    std::unique_lock lock(mutex_);
    while (items_.size() == capacity_) {
      ++producers_;
      room_.wait(lock);
      --producers_;
    }
    items_.push_back(std::move(e));
    const bool wake = consumers_ > 0 && items_.size() > minimum_;
    lock.unlock();
    if (wake) there_.notify_one();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    there_.notify_all();
  }

  // Returns up to `count` elements, or none at the end of the input.
  std::vector<element> pop_up_to(std::size_t count) {
    std::vector<element> batch;
    batch.reserve(count);
    std::unique_lock lock(mutex_);
    while (batch.size() < count) {
      if (items_.empty() ? closed_ : closed_ || items_.size() > minimum_) {
        if (items_.empty()) break;
        std::swap(items_[random_() % items_.size()], items_.back());
        batch.push_back(std::move(items_.back()));
        items_.pop_back();
      } else {
        if (producers_ > 0) room_.notify_all();
        ++consumers_;
        there_.wait(lock);
        --consumers_;
      }
    }
    if (producers_ > 0) room_.notify_all();
    return batch;
  }

 private:
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable there_;
  std::vector<element> items_;
  std::mt19937_64 random_{1};
  const std::size_t capacity_;
  const std::size_t minimum_;
  int producers_ = 0;  // waiting ones
  int consumers_ = 0;
  bool closed_ = false;
};

void parse_into(shuffle_queue& queue, const std::string& path) {
  leat::oracle::Example message;
  bench::for_each_record(path, [&](const char* data, std::size_t size) {
    if (!message.ParseFromArray(data, static_cast<int>(size))) std::abort();
    auto& all = *message.mutable_features()->mutable_feature();
    element e;
    e.label = all.at("label").int64_list().value(0);
    const auto& features = all.at("features").float_list().value();
    e.features.assign(features.begin(), features.end());
    e.image = std::move(*all.at("image").mutable_bytes_list()->mutable_value(0));
    queue.push(std::move(e));
  });
}

struct batch {
  std::vector<std::int64_t> labels;
  std::vector<float> features;
  std::vector<std::string> images;
};

batch columns_of(std::vector<element> elements) {
  batch b;
  b.features.reserve(elements.size() * bench::training_example::features);
  for (element& e : elements) {
    b.labels.push_back(e.label);
    b.features.insert(b.features.end(), e.features.begin(), e.features.end());
    b.images.push_back(std::move(e.image));
  }
  return b;
}

std::size_t run(const bench::request& r) {
  constexpr std::size_t minimum = bench::shuffle_capacity - 10 * bench::batch_size;
  shuffle_queue queue(bench::shuffle_capacity, minimum);
  const std::vector<std::string> files = bench::files_at(r.file);
  std::atomic<std::size_t> next_file{0};
  std::atomic<std::size_t> live = bench::cores_of(r);
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < bench::cores_of(r); ++i) {
    readers.emplace_back([&] {
      for (std::size_t f; (f = next_file++) < files.size();) parse_into(queue, files[f]);
      if (--live == 0) queue.close();
    });
  }
  std::size_t examples = 0;
  double sum = 0;
  for (;;) {
    const batch b = columns_of(queue.pop_up_to(bench::batch_size));
    if (b.labels.empty()) break;
    for (const std::int64_t label : b.labels) sum += static_cast<double>(label);
    examples += b.labels.size();
  }
  return sum < 0 ? 0 : examples;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::use_cores(r);
  run(r);
  const bench::stopwatch watch;
  const std::size_t examples = run(r);
  return bench::report(r, "threads and protobuf",
                       watch.seconds() * 1e9 / static_cast<double>(examples), "ns/Example");
}
