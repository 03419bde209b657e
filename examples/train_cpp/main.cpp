// Learns to distinguish C++ from C under a supervisor. If it is killed at any time and started
// again, it continues from its last checkpoint, with each record once per epoch and in the same
// order.
//
//     learn_cpp --write-shards SHARDS
//     train_cpp [--restart-input] SHARDS LOGDIR [EPOCHS [MILLISECONDS BETWEEN CHECKPOINTS
//               [MICROSECONDS OF A STEP]]]
//
// --restart-input keeps the weights of the checkpoint and reads the input from the beginning. Pass
// it once, after the shards or the pipeline have changed, and not in a command line that is run
// again after each kill.
//
// After each step it sleeps for MICROSECONDS OF A STEP, as if it waited for a device that computes;
// the services run meanwhile. SIGTERM or SIGINT stops it after the current step: it saves its state
// and exits with status 0. To show the curves, run: leat report LOGDIR

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "../learn_cpp/features.hpp"
#include "../learn_cpp/model.hpp"

namespace {

struct settings {
  std::string shards;
  std::string logdir;
  std::uint64_t epochs = 2;
  std::chrono::milliseconds between{1000};
  std::chrono::microseconds step{0};
  bool restart_input = false;
};

// Fingerprint of the learnt records, independent of their order. Checkpoints contain it.
struct tally {
  [[nodiscard]] std::string save() const {
    return std::to_string(seen.count()) + ' ' + std::to_string(seen.high()) + ' ' +
           std::to_string(seen.low());
  }
  void restore(std::string_view bytes) {
    unsigned long long n = 0;
    unsigned long long high = 0;
    unsigned long long low = 0;
    if (std::sscanf(std::string(bytes).c_str(), "%llu %llu %llu", &n, &high, &low) != 3) {
      throw leat::failure(leat::errc::invalid_argument, "the saved tally is invalid");
    }
    seen = {n, high, low};
  }
  leat::epoch_fingerprint seen;
};

// A record is '+' or '-', followed by a line.
std::vector<sample> samples_of(const leat::owned_record_batch& batch) {
  std::vector<sample> samples;
  for (const leat::byte_view record : batch) {
    const std::string_view text = leat::as_text(record);
    if (!text.empty()) samples.push_back(make_sample(text.substr(1), text[0] == '+'));
  }
  return samples;
}

leat::task<void> train(settings chosen) {
  auto batches = leat::read_files<leat::tfrecord_reader>({.files = {chosen.shards + "/*.tfrecord"},
                                                          .num_epochs = chosen.epochs,
                                                          .shuffle = true,
                                                          .seed = 1,
                                                          .interleave = 2})
                     .shuffle({.capacity = 1'000, .seed = 2})
                     .batch({.batch_size = 100})
                     .prefetch(2);
  std::int64_t step = 0;
  model m;
  tally learnt;
  leat::checkpoint_registry state("C or C++");
  state.add("global_step", step);
  m.add_to(state);
  state.add("learnt", learnt);
  state.add("input", batches);

  leat::saver_options saver;
  if (chosen.restart_input) saver.left_out = {"input"};
  leat::supervisor sv({.logdir = chosen.logdir,
                       .state = &state,
                       .saver = saver,
                       .stages = batches.stages(),
                       .save_model_interval = chosen.between,
                       .on_warning = [](const std::string& sentence) {
                         std::fprintf(stderr, "%s\n", sentence.c_str());
                       }});
  //! [steps]
  const auto body = [&]() -> leat::task<void> {
    const std::string& from = sv.restored_from();
    std::printf("begins %s, at step %lld\n", from.empty() ? "anew" : ("from " + from).c_str(),
                static_cast<long long>(step));
    std::fflush(stdout);
    // While a batch is processed, nothing is saved and no stop takes effect.
    co_await batches.for_each([&](leat::owned_record_batch batch) -> leat::task<void> {
      const std::vector<sample> samples = samples_of(batch);
      const double loss = m.train(samples);
      for (const leat::byte_view record : batch) learnt.seen.add(0, record);
      if (++step % 20 == 0) {
        co_await sv.summary_computed(leat::summary().add_scalar("loss", loss));
      }
      if (chosen.step.count() > 0) co_await leat::sleep_for(chosen.step);
    });
  };
  //! [/steps]
  //! [stop]
  const leat::stop_on_signal guard(sv, {SIGINT, SIGTERM});
  co_await sv.managed(body);
  if (sv.stopped()) {
    std::printf("stopped at step %lld; start it again to continue\n", static_cast<long long>(step));
    co_return;
  }
  //! [/stop]
  std::printf("%lld steps, learnt %s, weights %08x\n", static_cast<long long>(step),
              leat::to_string(learnt.seen).c_str(), m.checksum());
  std::fflush(stdout);  // before a signal has its default effect again
}

}  // namespace

int main(int argc, char** argv) {
  const bool restart_input = argc > 1 && std::string_view(argv[1]) == "--restart-input";
  if (restart_input) {
    --argc;
    ++argv;
  }
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: train_cpp [--restart-input] SHARDS LOGDIR "
                 "[EPOCHS [MILLISECONDS [MICROSECONDS]]]\n");
    return 2;
  }
  settings chosen{.shards = argv[1], .logdir = argv[2], .restart_input = restart_input};
  if (argc > 3) chosen.epochs = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) chosen.between = std::chrono::milliseconds(std::atoi(argv[4]));
  if (argc > 5) chosen.step = std::chrono::microseconds(std::atoi(argv[5]));
  return leat::run(train(std::move(chosen)), {.signals = {}});  // the guard in train() handles them
}
