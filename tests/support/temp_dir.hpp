#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

/// A directory for one test. The destructor removes it with its contents.
class temp_dir {
 public:
  temp_dir() : temp_dir(std::filesystem::temp_directory_path()) {}
  explicit temp_dir(const std::filesystem::path& where) {
    std::string pattern = (where / "leat-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary directory");
    path_ = pattern;
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  ~temp_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view contents) const {
    std::ofstream(*this / name, std::ios::binary) << contents;
    return *this / name;
  }

  /// Returns the contents of a file.
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path path_;
};
