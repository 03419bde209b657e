#include "leat/pipeline/plan/build_pipeline.hpp"

#include <memory>
#include <type_traits>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "pipeline/plan/join_stages.hpp"
#include "pipeline/plan/plan_decoder.hpp"

namespace LEAT {
namespace detail {

/// Turns the batches of a stage into elements of one type, one by one. It has no metrics and no
/// state of its own: the stage before it has the same elements.
template <class Rows>
class planned_batch_stage final
    : public inner_stage<std::vector<Rows>, std::vector<planned_batch>> {
 public:
  using input_type = stage<std::vector<Rows>>;
  using block_type = std::vector<planned_batch>;
  using sink = typename stage<block_type>::sink;

  explicit planned_batch_stage(std::unique_ptr<input_type> input)
      : planned_batch_stage(input->metrics(), std::move(input)) {}

  void start(pipeline_context& context) override { this->input().start(context); }
  task<bool> next(block_type& block) override {
    const bool more = co_await this->input().next(in_);
    convert(in_, block);
    co_return more;
  }

  task<void> replay(std::span<const origin> records, sink to) override {
    return this->input().replay(
        records, [to = std::move(to)](std::vector<Rows>& rows, std::span<const origin> origins) {
          block_type block;
          convert(rows, block);
          to(block, origins);
        });
  }

 private:
  planned_batch_stage(stage_metrics& metrics, std::unique_ptr<input_type>&& input)
      : inner_stage<std::vector<Rows>, block_type>(std::move(input), metrics) {}

  static void convert(std::vector<Rows>& from, block_type& to) {
    to.clear();
    for (Rows& rows : from) to.emplace_back(std::move(rows));
    from.clear();
  }

  std::vector<Rows> in_;
};

/// Appends the stages of a plan to a pipeline of any type. Each function handles one stage, and
/// then the rest.
class plan_builder {
 public:
  explicit plan_builder(const pipeline_plan& plan) : plan_(plan) {}

  // The stages after 'batch' have blocks of one type, and the stages before it of a few types. So
  // the functions below, which call each other for one stage after another, have few instances,
  // although a plan may have any number of stages.
  template <class Block>
  [[nodiscard]] planned_pipeline append_all(pipeline<Block>&& p) {
    if (part_ == plan_.stages.size()) {
      if constexpr (std::is_same_v<Block, std::vector<planned_batch>>) return std::move(p);
      throw plan_error(part_, "",
                       "elements are " + std::string(to_string(plan_.element_after(part_))) +
                           ", not batches: add a stage of kind 'batch'");
    }
    const plan_stage& stage = plan_.stages[part_++];
    return std::visit([&](const auto& what) { return append(std::move(p), what); }, stage);
  }

  /// Adds the present part of the plan to errors of the library.
  template <class Make>
  [[nodiscard]] auto with_part(Make make) const {
    try {
      return make();
    } catch (const plan_error&) {
      throw;
    } catch (const failure& e) {
      throw plan_error(part_, "", without_code_message(e), e.code());
    }
  }

 private:
  template <class Rows>
  static planned_pipeline erase(pipeline<std::vector<Rows>>&& p) {
    return {std::move(p.context_), std::make_unique<planned_batch_stage<Rows>>(std::move(p.last_))};
  }

  template <class Block, class Stage>
  planned_pipeline append(pipeline<Block>&& p, const Stage& o) {
    return append_all(with_part([&] { return std::move(p).append(o); }));
  }
  // find_plan_errors() has rejected a stage that does not fit.
  template <class Block>
  planned_pipeline append(pipeline<Block>&& p, const batch_stage_options& o) {
    if constexpr (std::is_same_v<Block, std::vector<planned_batch>>) {
      return append_all(std::move(p));
    } else {
      return append_all(with_part([&] { return erase(std::move(p).batch(o)); }));
    }
  }
  template <class Block, decoder_stage Stage>
  planned_pipeline append(pipeline<Block>&& p, const Stage& o) {
    if constexpr (std::is_same_v<Block, std::vector<planned_batch>>) {
      return append_all(with_part([&] {
        return std::move(p).map(
            o.name,
            [decode = make_decoder(o), name = std::string(o.name)](const planned_batch& batch) {
              return decode_batch(decode, name, batch);
            },
            {.workers = o.workers});
      }));
    } else {
      return append_all(std::move(p));
    }
  }

  const pipeline_plan& plan_;
  std::size_t part_ = 0;
};

}  // namespace detail

planned_pipeline detail::join_stages(const pipeline_plan& plan) {
  plan_builder builder(plan);
  return std::visit(
      [&]<class Source>(const Source& source) {
        return builder.append_all(builder.with_part([&] {
          if constexpr (std::is_same_v<Source, indexed_source>) {
            return read_indexed(source.files, source.reader, plan.options);
          } else {
            return read_files(source, plan.options);
          }
        }));
      },
      plan.source);
}

planned_pipeline build_pipeline(const pipeline_plan& plan) {
  const std::vector<plan_error> errors = detail::check_stages(plan);
  if (!errors.empty()) throw plan_error(errors.front());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const auto* const csv = std::get_if<csv_stage_options>(&plan.stages[i]);
    if (!csv || !csv->has_header_in_files) continue;
    throw plan_error(i + 1, "header",
                     detail::title_of_stage(plan, i + 1) +
                         ": the header has not been read: call read_headers() first");
  }
  return detail::join_stages(plan);
}

}  // namespace LEAT
