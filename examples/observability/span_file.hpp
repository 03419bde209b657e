#pragma once

// A file that a thread of its own writes, so that a slow disk stops no loop.

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

class span_file {
 public:
  static constexpr std::size_t max_lines = 10'000;  // about 4 MB

  // Appends to the file, so that a restart keeps its spans.
  explicit span_file(const std::string& path) : state_(std::make_shared<state>()) {
    state_->out.rdbuf()->pubsetbuf(nullptr, 0);
    state_->out.open(path, std::ios::app);
    if (!state_->out) throw std::runtime_error(path + ": cannot open the file");
    std::thread(write_lines, state_).detach();  // while the disk stalls, it cannot be joined
  }
  span_file(const span_file&) = delete;
  span_file& operator=(const span_file&) = delete;
  ~span_file() { close(); }

  // Never waits for the disk: a line is dropped if the queue is full.
  void write(std::string line) {
    const std::lock_guard lock(state_->mutex);
    if (state_->is_closed || state_->lines.size() == max_lines) {
      ++state_->dropped;
    } else {
      state_->lines.push_back(std::move(line));
      state_->changed.notify_all();
    }
  }

  // Waits until the lines are written, but not longer than `limit`.
  void close(std::chrono::milliseconds limit = std::chrono::seconds(1)) {
    std::unique_lock lock(state_->mutex);
    state_->is_closed = true;
    state_->changed.notify_all();
    state_->changed.wait_for(lock, limit, [&] { return state_->lines.empty(); });
  }

  // Returns the number of lines that are lost. After close(), it includes the unwritten ones.
  [[nodiscard]] std::uint64_t dropped() const {
    const std::lock_guard lock(state_->mutex);
    return state_->dropped + (state_->is_closed ? state_->lines.size() : 0);
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> lines;  // the first one is being written
    std::uint64_t dropped = 0;
    bool is_closed = false;
    std::ofstream out;  // of the thread
  };

  static void write_lines(const std::shared_ptr<state>& s) {
    sigset_t all;
    sigfillset(&all);  // without SIGPIPE, a pipe whose reader has left is only an error
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    bool has_failed = false;  // the last line may be incomplete
    for (std::unique_lock lock(s->mutex);;) {
      s->changed.wait(lock, [&] { return s->is_closed || !s->lines.empty(); });
      if (s->lines.empty()) return;
      const std::string& line = s->lines.front();  // remains valid while lines are added
      lock.unlock();
      has_failed = !(s->out << (has_failed ? "\n" : "") << line);
      s->out.clear();  // tries again with the next line
      lock.lock();
      s->lines.pop_front();
      if (has_failed) ++s->dropped;
      s->changed.notify_all();
    }
  }

  const std::shared_ptr<state> state_;
};
