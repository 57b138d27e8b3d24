// CompileNotice: one line on stderr when a compilation takes long enough to be noticed, and one when it has ended.
// Silence during seconds of work reads as a hang.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fovea {

class CompileNotice {
 public:
  // `what`: "fwd_mma for sm_90a". A quiet notice prints nothing.
  CompileNotice(std::string what, bool quiet);
  ~CompileNotice();
  CompileNotice(const CompileNotice&) = delete;
  CompileNotice& operator=(const CompileNotice&) = delete;

 private:
  void watch();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread watcher_;
};

// One whole line to stderr in one write, so that lines of several processes do not mix.
void print_line(const std::string& text);

}  // namespace fovea
