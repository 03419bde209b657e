#include "leat/pipeline/source/detail/make_file_stage.hpp"

namespace LEAT::detail {

template std::unique_ptr<stage<record_batch>> make_file_stage(stage_metrics&,
                                                              file_source<csv_reader>);
template std::unique_ptr<stage<line_batch>> make_file_stage(stage_metrics&,
                                                            file_source<line_reader>);
template std::unique_ptr<stage<record_batch>> make_file_stage(stage_metrics&,
                                                              file_source<fixed_length_reader>);
template std::unique_ptr<stage<record_batch>> make_file_stage(stage_metrics&,
                                                              file_source<tfrecord_reader>);

}  // namespace LEAT::detail
