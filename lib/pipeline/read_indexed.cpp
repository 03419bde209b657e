#include "leat/pipeline/read_indexed.hpp"

#include <memory>
#include <utility>

namespace leat {
namespace {

class indexed_stage final : public detail::stage<record_selection> {
 public:
  indexed_stage(stage_metrics& metrics, std::vector<std::string> files,
                indexed_reader_options options)
      : stage(metrics), files_(std::move(files)), options_(std::move(options)) {}

  void start(detail::pipeline_core&) override { metrics().add_task(); }

  task<bool> next(record_selection& run) override {
    const at_work here = working();
    if (!reader_) {
      std::vector<std::string> paths = co_await detail::find_files(files_, metrics().name());
      reader_ = co_await indexed_reader::open(std::move(paths), options_);
    }
    const bool more = co_await reader_->read_batch(run);
    std::size_t bytes = 0;
    for (const byte_view record : run) bytes += record.size();
    metrics().add(run.size(), bytes);
    co_return more;
  }

 private:
  const std::vector<std::string> files_;
  const indexed_reader_options options_;
  std::unique_ptr<indexed_reader> reader_;
};

}  // namespace

pipeline<record_selection> read_indexed(std::vector<std::string> files,
                                        indexed_reader_options reader, pipeline_options options) {
  auto core = std::make_unique<detail::pipeline_core>(std::move(options));
  if (files.empty()) core->refuse(reader.name, "name at least one file or pattern");
  stage_metrics& metrics = core->add_stage(reader.name);
  return {std::move(core),
          std::make_unique<indexed_stage>(metrics, std::move(files), std::move(reader))};
}

}  // namespace leat
