#include "plan/batch_sink.hpp"

#include <cstdint>
#include <utility>

#include <leat/io/file/match_files.hpp>

#include "input/json_values.hpp"
#include "input/paths.hpp"
#include "output/csv_line_writer.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

// Writes to standard output, as text or as JSON. Columns are always JSON.
class printing_sink final : public batch_sink {
 public:
  printing_sink(program& p, bool batched) : program_(p), batched_(batched) {}

  leat::task<> take(const leat::planned_batch& batch, std::size_t count) override {
    if (batch.has_columns()) {
      program_.out.write_line(
          {{"batch", batches_++}, {"records", batch.size()}, {"columns", to_json(batch)}});
    } else if (program_.json && batched_) {
      json list = json::array();
      for (std::size_t i = 0; i < count; ++i) list.push_back(value_json(leat::as_text(batch[i])));
      program_.out.write_line({{"batch", batches_++}, {"records", std::move(list)}});
    } else {
      for (std::size_t i = 0; i < count; ++i) print(leat::as_text(batch[i]));
    }
    co_return;
  }

  leat::task<> close() override { co_return; }

 private:
  void print(std::string_view record) {
    if (!program_.json) {
      program_.out.write(escape_text(record) + "\n");
    } else if (is_utf8(record)) {
      program_.out.write_line({{"text", record}});
    } else {
      program_.out.write_line({{"base64", base64(record)}});
    }
  }

  program& program_;
  const bool batched_;
  std::uint64_t batches_ = 0;
};

// Writes files: records unchanged, columns as lines of CSV or as Examples.
class writing_sink final : public batch_sink {
 public:
  writing_sink(std::unique_ptr<record_sink> to, const declared_plan& plan)
      : to_(std::move(to)), output_(plan.output), lines_(*to_, output_.delimiter) {
    if (output_.sink.records == format::csv && output_.header) columns_ = plan.pipeline.columns();
  }

  leat::task<> take(const leat::planned_batch& batch, std::size_t count) override {
    co_await write_header();
    for (std::size_t i = 0; i < count; ++i) {
      if (!batch.has_columns()) {
        co_await to_->write(batch[i]);
      } else if (output_.sink.records == format::csv) {
        co_await lines_.write(csv_line(batch, i, output_.delimiter));
      } else {
        const std::string example = make_example(batch, i);
        co_await to_->write(leat::as_bytes(example));
      }
    }
  }

  leat::task<> show() override {
    if (output::is_terminal()) co_await to_->flush();
  }

  leat::task<> close() override {
    co_await write_header();  // of a table without rows
    co_await to_->close();
  }

  std::vector<std::string> paths() const override { return to_->paths(); }

 private:
  leat::task<> write_header() {
    const std::vector<leat::planned_column> columns = std::exchange(columns_, {});
    if (columns.empty()) co_return;
    co_await lines_.write(csv_header(columns, output_.delimiter));
  }

  const std::unique_ptr<record_sink> to_;
  const output_plan output_;
  csv_line_writer lines_;
  std::vector<leat::planned_column> columns_;  // of the header that is not yet written
};

// The log is appended to a file that exists.
void reject_quarantine(const std::string& quarantine, const std::string& use) {
  throw usage_error(quarantine + ": the quarantine file is " + use +
                    ": choose another path for 'quarantine'");
}

}  // namespace

leat::task<> reject_own_input(const declared_plan& plan, std::string declaration) {
  const std::string& quarantine = plan.quarantine;
  const bool writes = plan.output.what == output_plan::kind::write && plan.output.sink.path != "-";
  if (!writes && quarantine.empty()) co_return;
  std::vector<std::string> inputs = co_await leat::match_files(plan.files());
  inputs.push_back(std::move(declaration));
  for (const std::string& path : inputs) {
    if (writes) throw_if_replaced(path, plan.output.sink);
    if (!quarantine.empty() && is_same_file(quarantine, path)) {
      reject_quarantine(quarantine, "also the input file " + display_path(path));
    }
  }
  if (writes && !quarantine.empty() && is_output(quarantine, plan.output.sink)) {
    reject_quarantine(quarantine, "also an output file");
  }
}

leat::task<std::unique_ptr<batch_sink>> open_batch_sink(const declared_plan& plan, program& p) {
  if (plan.output.what == output_plan::kind::count) co_return nullptr;
  if (plan.output.what == output_plan::kind::print) {
    co_return std::make_unique<printing_sink>(p, plan.is_batched);
  }
  std::unique_ptr<record_sink> to = co_await open_sink(plan.output.sink, p.out);
  co_return std::make_unique<writing_sink>(std::move(to), plan);
}

}  // namespace tool
