// A program of two parts: one for each flavour. They run at the same time.

#include <cstdio>
#include <string>
#include <thread>

std::string run_standalone();
std::string run_boost();
void throw_standalone(const char* message);
void throw_boost(const char* message);
bool catch_standalone(void (*thrower)(const char*));
bool catch_boost(void (*thrower)(const char*));

int main() {
  std::string standalone, boost;
  {
    const std::jthread first([&] { standalone = run_standalone(); });
    const std::jthread second([&] { boost = run_boost(); });
  }
  if (!standalone.empty()) std::printf("standalone: %s\n", standalone.c_str());
  if (!boost.empty()) std::printf("boost: %s\n", boost.c_str());
  const bool caught = catch_standalone(&throw_boost) && catch_boost(&throw_standalone);
  if (!caught) std::puts("a failure of the other flavour is not known");
  return standalone.empty() && boost.empty() && caught ? 0 : 1;
}
