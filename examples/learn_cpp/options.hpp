#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The options of the command line.
struct options {
  std::string cpp_directory;  ///< if empty: the C++ standard library's headers
  std::string c_directory;    ///< if empty: the C headers below /usr/include
  std::string shards;         ///< folder of labelled lines to read instead
  std::string write_shards;   ///< folder to write labelled lines to, instead of training
  std::uint64_t epochs = 2;
  std::uint64_t seed = 1;
  std::size_t readers = 4;
  std::size_t batch_size = 128;
  bool skip_bad_files = false;
};

/// Parses the command line. Exits after printing the help or an error.
options parse_options(int argc, char** argv);

/// Return the glob patterns of the C++ files and of the C files.
std::vector<std::string> cpp_patterns(const options& o);
std::vector<std::string> c_patterns(const options& o);
