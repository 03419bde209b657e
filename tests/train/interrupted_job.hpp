#pragma once

// A supervised job on a machine that stops at any time and is restarted until the job is done.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/job_process.hpp"

namespace leat_test {

/// The job and its invariants, which hold however often its machine stops. At the end it has learnt
/// each element once, like a job that is never stopped. It loses nothing that was saved, it never
/// starts from the beginning if there is a checkpoint, and it ends. It reports violations to the
/// world.
class interrupted_job {
 public:
  explicit interrupted_job(leat::sim::world& w, planted wrong = planted::nothing)
      : w_(w), wrong_(wrong), shape_(w.random()) {}

  /// Runs the job to its end, and once more after a last stop of the machine, which leaves nothing
  /// to do.
  leat::task<> run() {
    write_input();
    co_await read_through();
    for (int round = 0; round < 2; ++round) {
      is_done_ = false;
      while (!is_done_) {
        if (leat::this_task::stop_requested())
          throw leat::failure(leat::errc::cancelled, "the job");
        expect(++starts_ < 1000, "the job does not come to its end");
        co_await start();
      }
      w_.files().crash();
      w_.files().restart();
    }
    co_await leat::sleep_for(std::chrono::hours(1));  // for operations that no task awaits
    expect(w_.files().open_files() == 0, "files are left open");
  }

  [[nodiscard]] int starts() const noexcept { return starts_; }
  /// The starts after a stop of the machine, and the starts that continued from a checkpoint.
  [[nodiscard]] int crashes() const noexcept { return crashes_; }
  [[nodiscard]] int resumed() const noexcept { return resumed_; }
  /// The number of times that a worker has restored a checkpoint of the chief.
  [[nodiscard]] int read_by_worker() const noexcept { return read_by_worker_; }

 private:
  using task = leat::task<>;

  void expect(bool holds, std::string sentence) {
    if (!holds) w_.report_violation(std::move(sentence));
  }

  void write_input() {
    for (std::uint64_t f = 0, files = 1 + w_.random().uniform_below(3); f < files; ++f) {
      std::string text;
      for (std::uint64_t i = 0, lines = w_.random().uniform_below(12); i < lines; ++i) {
        const std::string line =
            std::to_string(f) + '-' + std::to_string(i) +
            std::string(static_cast<std::size_t>(w_.random().uniform_below(60)), 'x');
        text += line + '\n';
        lines_.insert(lines_.end(), static_cast<std::size_t>(shape_.epochs), line);
      }
      w_.files().write_file("/in/" + std::to_string(f), text);
    }
  }

  // Reads the text that an uninterrupted job learns: all lines, each once per epoch.
  task read_through() {
    for (bool whole = false; !whole;) {
      expected_.clear();
      auto input = elements_of(shape_, w_);
      try {
        co_await input.for_each([this](const std::string& each) { expected_ += each + '\n'; });
        whole = true;
      } catch (const std::system_error& e) {
        if (e.code() == leat::errc::cancelled) throw;
      }
    }
    std::vector<std::string> found;
    std::string line;
    for (const char c : expected_) {
      if (c == ',') found.push_back(std::exchange(line, {}));
      if (c != ',' && c != '\n') line += c;
    }
    std::ranges::sort(found);
    std::ranges::sort(lines_);
    expect(found == lines_, "what is read is not each line once an epoch");
  }

  // Runs the processes from a start until the chief ends or the machine stops.
  task start() {
    w_.set_identity({"sim", static_cast<int>(1 + w_.random().uniform_below(2))});
    was_asked_ = false;
    const auto machine = [this](leat::task_group& all) -> task {
      all.spawn(run_chief(all), "chief");
      if (shape_.worker) all.spawn_on(w_.thread(w_.threads() - 1), run_worker(), "worker");
      all.spawn(end(all), "end");
      co_return;
    };
    co_await leat::with_task_group(machine, "machine");
    if (!w_.files().crashed()) co_return;
    ++crashes_;
    w_.files().restart();
  }

  // Interrupts the processes after some time.
  task end(leat::task_group& all) {
    const std::uint32_t how = w_.decisions().choose(4, "what ends the job");
    if (how == 0 || how == 3) co_return;  // only a fault, or the error of fail()
    try {
      co_await leat::sleep_for(some_time());
    } catch (const leat::failure&) {
      co_return;  // the processes have ended
    }
    was_asked_ = how == 1;
    if (how == 1) all.request_stop();
    if (how == 2) w_.files().crash();
  }

  // The limit doubles with each start.
  leat::duration some_time() {
    return std::chrono::microseconds(w_.random().uniform_below(20'000ULL << std::min(starts_, 10)));
  }

  task fail() {
    co_await leat::sleep_for(some_time());
    throw leat::failure(leat::errc::aborted, "something fails");
  }

  leat::supervisor_options options(job_process& p) {
    leat::supervisor_options o;
    o.logdir = wrong_ == planted::other_place ? "/run/" + std::to_string(starts_) : "/run";
    o.state = &p.state;
    o.saver.durable = wrong_ != planted::no_sync;
    o.saver.max_to_keep = shape_.keep;
    o.saver.on_skipped = [this, &p](const std::string& path, const std::exception_ptr& error) {
      ++p.refused;
      // A listed checkpoint may also have been deleted.
      const bool is_there = w_.files().read_file(path).has_value();
      expect(is_of_device(error) || !is_there, path + " is damaged");
    };
    o.save_model_interval = shape_.interval;
    o.save_summaries_interval = std::chrono::milliseconds(20);
    o.write_events = shape_.events;
    o.events.flush_interval = std::chrono::milliseconds(20);
    o.stages = p.input.stages();
    o.stop_grace = o.step_grace = std::chrono::hours(24);
    o.on_warning = nullptr;
    return o;
  }

  static bool is_of_device(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::system_error& e) {
      return e.code() == std::errc::io_error;
    } catch (...) {
      return false;
    }
  }

  task run_chief(leat::task_group& all) {
    const auto p = std::make_unique<job_process>(shape_, w_, wrong_);
    leat::supervisor sv(options(*p));
    const std::function<task()> body = [&]() -> task {
      begin(*p, sv);
      if (w_.decisions().choose(4, "does something fail") == 1) sv.coord().spawn(fail(), "fail");
      task learning = shape_.in_steps ? learn_in_steps(*p, sv) : learn_each(*p, sv);
      co_await std::move(learning);
    };
    try {
      co_await sv.managed(body);
      is_saved(*p);
      is_done_ = p->learnt == expected_;
      expect(is_done_, "it ends before its end");
    } catch (const std::system_error& e) {
      // A stopped job finishes its step and saves its state.
      const bool stopped = was_asked_ && e.code() == leat::errc::cancelled;
      if (stopped && p->has_begun) is_saved(*p);
    }
    if (!p->has_begun && !sv.restored_from().empty()) go_back(*p);  // the end of the run saves it
    static_cast<void>(sv.coord().secondary_errors());               // otherwise they are printed
    all.request_stop();
  }

  void begin(job_process& p, const leat::supervisor& sv) {
    p.has_begun = true;
    check(p);
    if (sv.restored_from().empty()) {
      expect(saved_ == 0, "it begins anew over what was saved");
      expect(p.learnt.empty(), "it begins anew with what was learnt before");
      return;
    }
    ++resumed_;
    go_back(p);
    expect(p.learnt.size() >= saved_, "what was saved is lost");
  }

  // The device could not read the last checkpoint, so the job continues from an earlier one.
  void go_back(const job_process& p) {
    if (p.refused == 0 || p.learnt.size() >= saved_) return;
    saved_ = p.learnt.size();
    ++times_back_;
  }

  // Checks that the learnt text is a prefix of the text of an uninterrupted job.
  void check(const job_process& p) {
    const bool whole = p.learnt.empty() || p.learnt.ends_with('\n');
    expect(whole && expected_.starts_with(p.learnt), "something else is learnt, or is twice");
    std::vector<std::uint64_t> weights;
    std::int64_t step = 0;
    for (std::string_view rest = p.learnt; whole && !rest.empty();) {
      const std::string_view element = rest.substr(0, rest.find('\n'));
      job_process::learn_weights(weights, element, ++step);
      rest.remove_prefix(element.size() + 1);
    }
    expect(weights == p.weights, "the weights are not those of what was learnt");
    expect(step == p.step, "the step is not that of what was learnt");
  }

  task learn(job_process& p, const std::string& element, bool in_halves) {
    const std::string_view text = element;
    p.learnt += text.substr(0, text.size() / 2);
    const leat::duration pause = std::chrono::microseconds(w_.random().uniform_below(3000));
    if (in_halves) co_await leat::sleep_for(pause);
    p.learn_rest(text.substr(text.size() / 2));
    check(p);
    if (!in_halves) co_await leat::sleep_for(pause);
  }

  task learn_in_steps(job_process& p, leat::supervisor& sv) {
    std::exception_ptr error;
    try {
      for (bool more = true; more;) {
        {
          const auto here = co_await sv.step();
          const auto element = co_await p.input.next();
          more = element.has_value();
          if (more) co_await learn(p, *element, true);
        }
        co_await save_sometimes(p, sv);
      }
    } catch (...) {
      error = std::current_exception();
    }
    co_await p.input.stop();
    if (error) std::rethrow_exception(error);
  }

  // Each element is a step.
  task learn_each(job_process& p, leat::supervisor& sv) {
    const auto learn_one = [&](const std::string& element) -> task {
      co_await learn(p, element, shape_.seed % 2 == 0);
      co_await save_sometimes(p, sv);
    };
    if (wrong_ == planted::half_steps) {
      co_await learn_in_halves(p);
    } else {
      co_await p.input.for_each(learn_one);
    }
  }

  // A planted bug: the supervisor does not know when a step is in progress.
  task learn_in_halves(job_process& p) {
    for (bool more = true; more;) {
      const auto element = co_await p.input.next();
      more = element.has_value();
      if (more) co_await learn(p, *element, true);
    }
  }

  // A failed save is retried later, or ends the job.
  task save_sometimes(job_process& p, leat::supervisor& sv) {
    const std::uint64_t how = w_.random().uniform_below(12);
    if (how > 1) co_return;
    try {
      leat::task<std::string> saving = how == 0 ? sv.save() : sv.save_between_steps();
      static_cast<void>(co_await std::move(saving));
      is_saved(p);
    } catch (const leat::failure& e) {
      if (e.code() == leat::errc::cancelled || w_.random().uniform_below(2) == 0) throw;
    }
  }

  void is_saved(const job_process& p) { saved_ = std::max(saved_, p.learnt.size()); }

  // Restores the latest checkpoint again and again.
  task run_worker() {
    for (bool stopped = false; !stopped;) {
      const auto p = std::make_unique<job_process>(shape_, w_, wrong_);
      leat::supervisor_options o = options(*p);
      o.is_chief = false;
      o.sessions.recovery_wait = std::chrono::milliseconds(20);
      leat::supervisor sv(std::move(o));
      const std::size_t saved = saved_;
      const int times_back = times_back_;
      const std::function<task()> body = [&]() -> task {
        ++read_by_worker_;
        check(*p);
        const bool may_be_older = p->refused > 0 || times_back != times_back_;
        expect(may_be_older || p->learnt.size() >= saved, "a worker finds less than was saved");
        co_await leat::sleep_for(std::chrono::milliseconds(20));
      };
      try {
        co_await sv.managed(body);
      } catch (const std::system_error&) {
      }
      static_cast<void>(sv.coord().secondary_errors());
      stopped = leat::this_task::stop_requested();
    }
  }

  leat::sim::world& w_;
  const planted wrong_;
  const job_shape shape_;
  std::vector<std::string> lines_;  // of all epochs
  std::string expected_;
  std::size_t saved_ = 0;  // length of the learnt text that must not be lost
  bool is_done_ = false;
  bool was_asked_ = false;  // to stop
  int starts_ = 0;
  int crashes_ = 0;
  int resumed_ = 0;
  int times_back_ = 0;
  int read_by_worker_ = 0;
};

}  // namespace leat_test
