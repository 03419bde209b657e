#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What the command line asks for.
struct options {
  std::string cpp_directory;  ///< empty: the C++ standard library's headers
  std::string c_directory;    ///< empty: the C headers below /usr/include
  std::string shards;         ///< read labelled lines from here instead
  std::string write_shards;   ///< write labelled lines to here instead of learning
  std::uint64_t epochs = 2;
  std::uint64_t seed = 1;
  std::size_t readers = 4;
  std::size_t batch_size = 128;
  bool skip_bad_files = false;
};

/// Reads the command line. Prints help or what is wrong, and ends the program, where that is due.
options parse_options(int argc, char** argv);

/// Glob patterns of the files of both languages.
std::vector<std::string> cpp_patterns(const options& o);
std::vector<std::string> c_patterns(const options& o);
