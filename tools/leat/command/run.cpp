// leat run: runs a pipeline that a file declares.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <leat/async/loop/block_on.hpp>
#include <leat/base/error.hpp>
#include <leat/io/file/match_files.hpp>
#include <leat/io/reader/quarantine_log.hpp>
#include <leat/io/reader/whole_file_reader.hpp>
#include <leat/pipeline/metrics/stage_metrics.hpp>
#include <leat/pipeline/plan/build_pipeline.hpp>

#include "command/commands.hpp"
#include "input/corruption_count.hpp"
#include "input/file_probe.hpp"
#include "input/paths.hpp"
#include "plan/batch_sink.hpp"
#include "plan/declared_plan.hpp"
#include "plan/run_report.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"
#include "terminal/progress.hpp"
#include "terminal/signals.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct run_options {
  std::string path;
  plan_overrides overrides;
  std::uint64_t limit = UINT64_MAX;  // elements
  bool check = false;
  bool verbose = false;
};

leat::task<std::string> read_text(std::string path) {
  leat::whole_file_reader_options how;
  how.max_file_size = std::uint64_t{1} << 20;
  const auto reader = co_await leat::whole_file_reader::open(std::move(path), how);
  leat::record_batch batch;
  const bool any = co_await reader->read_batch(batch);
  co_return any ? std::string(leat::as_text(batch[0])) : std::string();
}

void report_toml_error(const toml_error& m, const run_options& options, program& p) {
  std::string place = options.path;
  if (m.where.line > 0) place += fmt::format(":{}:{}", m.where.line, m.where.column);
  p.report(options.path, {status::usage, "invalid_argument", place + ": " + m.text});
}

// Standard input can be read only once.
void reject_shared_standard_input(const run_options& options, const declared_plan& plan) {
  if (!is_standard_input(resolve_path(options.path))) return;
  if (std::ranges::none_of(plan.files(), is_standard_input)) return;
  throw usage_error(
      "-: standard input is both the declaration and a file of its source: pass the declaration as "
      "a file");
}

// Returns the plan, or nothing after it has reported the errors.
std::optional<declared_plan> read_plan(const run_options& options, program& p) {
  const std::string text = leat::block_on(read_text(resolve_path(options.path)));
  toml_errors found;
  declared_plan plan;
  try {
    plan = make_plan(parse_toml(text), options.overrides, found);
  } catch (const toml_error& m) {
    found.push_back(m);
  }
  if (found.empty()) {
    reject_shared_standard_input(options, plan);
    return plan;
  }
  for (const toml_error& m : found) report_toml_error(m, options, p);
  return std::nullopt;
}

leat::world_rank world_of(const declared_plan& plan) {
  return std::visit([](const auto& source) { return common_options(source).world; },
                    plan.pipeline.source);
}

// The library rejects this too, but with a code that does not mean an error in the declaration.
leat::task<> check_ranks(const declared_plan& plan) {
  const std::uint64_t ranks = world_of(plan).world_size;
  const bool distributes_files = leat::format_of(plan.pipeline.source) != format::indexed;
  if (ranks == 1 || !distributes_files) co_return;
  const std::vector<std::string> files = co_await leat::match_files(plan.files());
  if (files.empty() || files.size() >= ranks) co_return;
  throw leat::plan_error(0, "",
                         fmt::format("[source]: {} for {} ranks: each rank needs at least one file",
                                     count_text(files.size(), "file"), ranks));
}

// Bytes that this rank reads in all epochs; 0 if unknown.
leat::task<std::uint64_t> bytes_to_read(const declared_plan& plan) {
  const std::optional<std::uint64_t> epochs = std::visit(
      [](const auto& source) { return common_options(source).num_epochs; }, plan.pipeline.source);
  if (!epochs) co_return 0;
  const double times =
      static_cast<double>(*epochs) / static_cast<double>(world_of(plan).world_size);
  const std::vector<std::string> files = co_await leat::match_files(plan.files());
  co_return static_cast<std::uint64_t>(times * static_cast<double>(bytes_of(files)));
}

std::size_t count_threads(const declared_plan& plan, const program& p) {
  if (p.jobs > 0) return p.jobs;
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  return plan.threads.value_or(std::min(plan.pipeline.workers(), processors));
}

// The schedulers for workers: all but the first, which runs the consumer.
std::vector<leat::scheduler*> get_workers(const leat::runtime& rt) {
  std::vector<leat::scheduler*> all = leat::schedulers_of(rt);
  all.erase(all.begin());
  return all;
}

// One run of a pipeline.
class pipeline_run {
 public:
  pipeline_run(const declared_plan& plan, const run_options& options, program& p)
      : plan_(plan), options_(options), program_(p) {}

  leat::task<> run(const leat::runtime& rt) {
    co_await check_ranks(plan_);
    co_await reject_own_input(plan_, resolve_path(options_.path));
    std::shared_ptr<leat::quarantine_log> log;
    if (!plan_.quarantine.empty()) log = co_await leat::quarantine_log::open(plan_.quarantine);
    leat::pipeline_plan plan = plan_.pipeline;
    plan.options.workers = get_workers(rt);
    std::visit(
        [&](auto& source) {
          source.reader.corruption.on_report = make_corruption_reporter(report_.lost);
          source.reader.corruption.log = log;
        },
        plan.source);
    co_await leat::read_headers(plan);
    leat::planned_pipeline p = leat::build_pipeline(plan);
    if (status_line::is_visible(program_.quiet)) total_ = co_await bytes_to_read(plan_);
    sink_ = co_await open_batch_sink(plan_, program_);
    co_await run_to_end(p);
  }

  [[nodiscard]] const run_report& report() const noexcept { return report_; }

 private:
  leat::task<> run_to_end(leat::planned_pipeline& p) {
    const auto stages = p.stages();
    const leat::scheduler& sched = *leat::scheduler::current();
    const leat::time_point begin = sched.now();
    std::exception_ptr error;
    try {
      const status_line shown([&](double seconds) { return line(*stages.front(), seconds); },
                              program_.quiet);
      co_await take_all(p);
    } catch (...) {
      error = std::current_exception();
    }
    const leat::duration elapsed = sched.now() - begin;
    co_await p.stop();
    if (error) std::rethrow_exception(error);
    if (sink_) {
      co_await sink_->close();
      report_.outputs = sink_->paths();
    }
    report_.elements = elements_;
    report_.records = records_;
    report_.dropped = p.dropped();
    report_.add_stages(stages, elapsed);
  }

  leat::task<> take_all(leat::planned_pipeline& p) {
    while (elements_ < options_.limit) {
      auto element = co_await p.next();
      if (!element) co_return;
      co_await take(*element);
      if (sink_) co_await sink_->show();
    }
  }

  leat::task<> take(const leat::planned_batch& batch) {
    std::size_t count = batch.size();
    if (!plan_.is_batched) count = std::min<std::uint64_t>(count, options_.limit - elements_);
    if (sink_) co_await sink_->take(batch, count);
    add(plan_.is_batched ? 1 : count, count);
  }

  void add(std::uint64_t elements, std::uint64_t records) noexcept {
    elements_.fetch_add(elements, std::memory_order_relaxed);
    records_.fetch_add(records, std::memory_order_relaxed);
  }

  // The progress line, on another thread.
  [[nodiscard]] std::string line(const leat::stage_metrics& source, double seconds) const {
    const std::uint64_t records = records_;
    const std::uint64_t bytes = source.bytes();
    const auto rate = [seconds](std::uint64_t n) {
      return static_cast<std::uint64_t>(static_cast<double>(n) / seconds);
    };
    std::string text = plan_.pipeline.options.name + ": ";
    if (plan_.is_batched) text += count_text(elements_, "batch", "batches") + ", ";
    const double share = share_done(source);
    text += fmt::format("{}, {} read, {}/s, {}/s", count_text(records, "record"), size_text(bytes),
                        count_text(rate(records), "record"), size_text(rate(bytes)));
    if (share > 0 && share < 1) text += fmt::format(", {:.0f} %", 100 * share);
    return text + time_left(share, seconds);
  }

  // Returns the larger of the finished shares of the bytes and of the limit, or 0 if both are
  // unknown.
  [[nodiscard]] double share_done(const leat::stage_metrics& source) const {
    double share = 0;
    if (total_ > 0) {
      const std::uint64_t bytes = source.bytes() + source.records() * plan_.format().framing_size;
      share = static_cast<double>(bytes) / static_cast<double>(total_);
    }
    if (options_.limit < UINT64_MAX) {
      share = std::max(share, static_cast<double>(elements_) / static_cast<double>(options_.limit));
    }
    return share;
  }

  const declared_plan& plan_;
  const run_options& options_;
  program& program_;
  std::unique_ptr<batch_sink> sink_;
  std::atomic<std::uint64_t> elements_{0};  // relaxed, as records_: only for display
  std::atomic<std::uint64_t> records_{0};
  std::uint64_t total_ = 0;  // bytes to read; 0 if unknown
  run_report report_;
};

void run_pipeline(const run_options& options, program& p) {
  const std::optional<declared_plan> plan = read_plan(options, p);
  if (!plan) return;
  p.reads_tfrecords = plan->format().is_tfrecord;
  const bool to_stdout =
      plan->output.what == output_plan::kind::write && plan->output.sink.path == "-";
  if (to_stdout && p.json)
    throw usage_error("--json cannot be combined with output to '-': both use standard output");
  const std::size_t threads = count_threads(*plan, p);
  if (options.check) {
    print_plan(*plan, threads, p);
    return;
  }
  pipeline_run run(*plan, options, p);
  try {
    run_one_until_signal(static_cast<unsigned>(threads) + 1,
                         [&](const leat::runtime& rt) { return run.run(rt); });
  } catch (const leat::plan_error& e) {
    report_toml_error(plan->to_toml_error(e), options, p);
    return;
  }
  if (run.report().lost.regions > 0) p.set_status(status::data);
  print_report(run.report(), *plan, options.verbose, p);
}

}  // namespace

void add_run(CLI::App& app, program& p) {
  CLI::App* command = add_command(app, p, "run", "Run a pipeline that a TOML file declares");
  const auto options = std::make_shared<run_options>();
  as_path(command->add_option("PIPELINE", options->path, "The TOML file; - is standard input"))
      ->required()
      ->type_name("");
  as_path(command->add_option("FILE", options->overrides.files,
                              "Files or patterns that replace the files of its source"))
      ->type_name("");
  const auto output_flag = [&](const char* name, output_plan::kind kind, const char* what) {
    return command->add_flag_callback(
        name, [options, kind] { options->overrides.output = kind; }, what);
  };
  CLI::Option* const count =
      output_flag("--count", output_plan::kind::count, "Only count; replaces the declared output");
  CLI::Option* const print = output_flag("--print", output_plan::kind::print,
                                         "Print the elements; replaces the declared output");
  as_path(command->add_option_function<std::string>(
              "-o,--output",
              [options](const std::string& path) {
                options->overrides.output = output_plan::kind::write;
                options->overrides.path = path;
              },
              "Write to PATH, or with - to standard output; replaces the\n"
              "declared output"))
      ->excludes(count)
      ->excludes(print);
  count->excludes(print);
  as_number(
      command->add_option("-n,--limit", options->limit,
                          "Stop after N batches, or after N records if there are no batches"));
  command->add_flag("--check", options->check,
                    "Only read PIPELINE; print its stages and their elements");
  command->add_flag("-v,--verbose", options->verbose,
                    "Print the metrics of each stage at the end\n\n"
                    "They are the number of records and tasks, and the shares of time in which the "
                    "tasks were busy, waited for input, and waited for output.");
  command->callback([options, &p] { p.run = [options, &p] { run_pipeline(*options, p); }; });
}

}  // namespace tool
