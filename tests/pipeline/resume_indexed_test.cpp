// Pipelines of read_indexed() that are saved and restored.

#include "leat/pipeline/read_indexed.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include "pipeline/resuming.hpp"
#include "support/error_of.hpp"
#include "support/refusal.hpp"

namespace resume_indexed_test {

using leat::errc;
using leat_test::contains;
using leat_test::error_of;
using leat_test::go_on;
using leat_test::read_and_save;

TEST_CASE("resume: the file of read_indexed() that has changed is named", "[pipeline]") {
  const temp_dir dir;
  leat::sync_wait(leat_test::write_record_files(dir, 200));
  const auto declare = [&] {
    return leat::read_indexed({dir / "records???"}, {.num_epochs = 2, .seed = 1, .batch_size = 7})
        .map("text", leat_test::text_of_record);
  };
  auto p = declare();
  const std::string state = leat::sync_wait(read_and_save(p, 30)).second.back();
  const auto refused = [&] {
    auto other = declare();
    const std::string why = error_of(other.restore(state), errc::failed_precondition);
    leat::sync_wait(other.stop());
    return why;
  };
  const std::string path = dir / "records103";
  const auto then = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, then + std::chrono::seconds(1));
  CHECK(contains(refused(), "stage 'indexed_reader': the state cannot be restored: '" + path +
                                "' has changed: it has been written since it was read"));
  std::filesystem::last_write_time(path, then);
  {
    auto other = declare();
    CHECK(leat::sync_wait(go_on(other, state)).size() == 370);
  }
  const std::string other = dir / "records101";
  const auto size = std::to_string(std::filesystem::file_size(other));
  std::filesystem::copy_file(path, other, std::filesystem::copy_options::overwrite_existing);
  CHECK(contains(refused(), "'" + other + "' has changed: it has " +
                                std::to_string(std::filesystem::file_size(path)) +
                                " bytes, and had " + size + " when it was read"));
}

}  // namespace resume_indexed_test
