// Fits a line to points and writes events for TensorBoard and `leat report`: the loss of each step,
// a histogram of the errors of every tenth step, and the start and the end of the run. Argument:
// the folder of the run.

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace {

struct line {
  double slope = 0;
  double offset = 0;
};

struct sample {
  double x;
  double y;
};

std::vector<sample> make_samples() {
  leat::random_engine random(1);
  const auto uniform = [&] { return static_cast<double>(random.uniform_below(1000)) / 1000; };
  std::vector<sample> samples;
  for (int i = 0; i < 500; ++i) {
    const double x = uniform();
    samples.push_back({x, 3 * x - 1 + (uniform() - 0.5) / 5});
  }
  return samples;
}

// Makes one step of gradient descent. Returns the error of each sample before the step.
std::vector<double> improve(line& l, const std::vector<sample>& samples) {
  std::vector<double> errors;
  line gradient;
  for (const sample& s : samples) {
    const double error = l.slope * s.x + l.offset - s.y;
    errors.push_back(error);
    gradient.slope += error * s.x;
    gradient.offset += error;
  }
  const double rate = 1.0 / static_cast<double>(samples.size());
  l.slope -= rate * gradient.slope;
  l.offset -= rate * gradient.offset;
  return errors;
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return sum / static_cast<double>(values.size());
}

//! [summaries]
leat::task<> train(leat::event_writer& writer) {
  const std::vector<sample> samples = make_samples();
  line l;
  co_await writer.add_session_log(leat::session_log::start, 1);
  for (int step = 1; step <= 300; ++step) {
    const std::vector<double> errors = improve(l, samples);
    co_await writer.add_scalar("loss", mean_square(errors), step);
    if (step % 10 == 0) co_await writer.add_histogram("errors", errors, step);
  }
  co_await writer.add_session_log(leat::session_log::stop);
  std::printf("y = %.2f x %+.2f\n", l.slope, l.offset);
}

leat::task<> run(std::string folder) {
  co_await leat::with_event_writer(folder, train);  // closed on every path
  const leat::event_run read = co_await leat::read_events(folder);
  const auto& loss = read.series.scalars.at("loss");
  std::printf("loss %.3f at step 1, %.5f at step %zu\n", static_cast<double>(loss.front().value),
              static_cast<double>(loss.back().value), loss.size());
}
//! [/summaries]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: summaries FOLDER\n");
    return 2;
  }
  return leat::run(run(argv[1]));
}
