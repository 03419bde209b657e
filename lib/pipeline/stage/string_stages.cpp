#include "leat/pipeline/stage/detail/make_stage.hpp"

namespace LEAT::detail {

template stage_ptr<std::vector<std::string>> make_map_stage<arity::one, record_batch, std::string>(
    stage_ptr<record_batch>&&, stage_metrics&, block_function_ptr<record_batch, std::string>);
template stage_ptr<std::vector<std::string>>
make_parallel_map_stage<arity::one, record_batch, std::string>(
    stage_ptr<record_batch>&&, stage_metrics&, block_function_ptr<record_batch, std::string>,
    std::size_t, ordering);
template stage_ptr<std::vector<std::string>> make_map_stage<arity::one, line_batch, std::string>(
    stage_ptr<line_batch>&&, stage_metrics&, block_function_ptr<line_batch, std::string>);
template stage_ptr<std::vector<std::string>>
make_parallel_map_stage<arity::one, line_batch, std::string>(
    stage_ptr<line_batch>&&, stage_metrics&, block_function_ptr<line_batch, std::string>,
    std::size_t, ordering);
template stage_ptr<std::vector<std::string>> make_map_stage<arity::many, line_batch, std::string>(
    stage_ptr<line_batch>&&, stage_metrics&, block_function_ptr<line_batch, std::string>);
template stage_ptr<std::vector<std::string>>
make_parallel_map_stage<arity::many, line_batch, std::string>(
    stage_ptr<line_batch>&&, stage_metrics&, block_function_ptr<line_batch, std::string>,
    std::size_t, ordering);
template stage_ptr<std::vector<std::string>> make_shuffle_stage(
    stage_ptr<std::vector<std::string>>&&, stage_metrics&, memory_use&, std::size_t,
    std::optional<std::uint64_t>);
template stage_ptr<std::vector<std::vector<std::string>>> make_batch_stage(
    stage_ptr<std::vector<std::string>>&&, stage_metrics&, std::size_t, batch_remainder);
template stage_ptr<std::vector<std::string>> make_prefetch_stage(
    stage_ptr<std::vector<std::string>>&&, stage_metrics&, std::size_t, bool);
template stage_ptr<std::vector<std::vector<std::string>>> make_prefetch_stage(
    stage_ptr<std::vector<std::vector<std::string>>>&&, stage_metrics&, std::size_t, bool);

}  // namespace LEAT::detail
