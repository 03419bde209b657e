#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr const char* usage = R"(usage: learn_cpp [options]

Learns to distinguish single lines of C from lines of C++.

  --cpp DIR           C++ sources (default: the standard library's headers)
  --c DIR             C sources (default: the C headers below /usr/include)
  --epochs N          passes over the training files (default: 2)
  --readers N         files read concurrently (default: 4)
  --batch-size N      lines in a training step (default: 128)
  --seed N            seed of all random choices (default: 1)
  --on-error WHAT     skip or fail if a file cannot be read (default: fail)
  --write-shards DIR  write the labelled lines to TFRecord files in DIR, and exit
  --shards DIR        train with the TFRecord files in DIR
  --help              print this text and exit

Ctrl-C stops cleanly and prints the summary; a second Ctrl-C exits immediately.
)";

[[noreturn]] void refuse(std::string_view option, std::string_view why) {
  std::fprintf(stderr, "learn_cpp: %.*s: %.*s; see learn_cpp --help\n",
               static_cast<int>(option.size()), option.data(), static_cast<int>(why.size()),
               why.data());
  std::exit(2);
}

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t least,
                     std::uint64_t most = UINT64_MAX) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = end == text.data() + text.size();
  if (error == std::errc::invalid_argument || !all) refuse(option, "needs a number");
  if (error != std::errc() || value < least || value > most) {
    refuse(option, "must be " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

// Patterns of the files in a directory and in three levels of folders below it.
std::vector<std::string> below(const std::string& directory) {
  return {directory + "/*", directory + "/*/*", directory + "/*/*/*", directory + "/*/*/*/*"};
}

}  // namespace

options parse_options(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--help" || option == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    const auto value = [&]() -> std::string_view {
      if (++i == argc || !*argv[i]) refuse(option, "needs a value");
      return argv[i];
    };
    if (option == "--cpp") {
      o.cpp_directory = value();
    } else if (option == "--c") {
      o.c_directory = value();
    } else if (option == "--shards") {
      o.shards = value();
    } else if (option == "--write-shards") {
      o.write_shards = value();
    } else if (option == "--epochs") {
      o.epochs = number(option, value(), 1, 1'000'000);
    } else if (option == "--seed") {
      o.seed = number(option, value(), 0);
    } else if (option == "--readers") {
      o.readers = number(option, value(), 1, 1'000);
    } else if (option == "--batch-size") {
      o.batch_size = number(option, value(), 1, 100'000);
    } else if (option == "--on-error") {
      const std::string_view what = value();
      if (what != "skip" && what != "fail") refuse(option, "must be skip or fail");
      o.skip_bad_files = what == "skip";
    } else {
      refuse(option, "no such option");
    }
  }
  return o;
}

std::vector<std::string> cpp_patterns(const options& o) {
  if (!o.cpp_directory.empty()) return below(o.cpp_directory);
  return {"/usr/include/c++/*/*", "/usr/include/c++/*/*/*", "/usr/include/c++/*/*/*/*"};
}

std::vector<std::string> c_patterns(const options& o) {
  if (!o.c_directory.empty()) return below(o.c_directory);
  return {"/usr/include/*.h",
          "/usr/include/arpa/*.h",
          "/usr/include/asm-generic/*.h",
          "/usr/include/linux/*.h",
          "/usr/include/linux/*/*.h",
          "/usr/include/net*/*.h",
          "/usr/include/rpc*/*.h",
          "/usr/include/sound/*.h",
          "/usr/include/*-linux-gnu/asm/*.h",
          "/usr/include/*-linux-gnu/bits/*.h",
          "/usr/include/*-linux-gnu/sys/*.h"};
}
