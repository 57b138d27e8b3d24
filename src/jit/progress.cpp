// A thread waits for the end of the compilation, or half a second, whichever comes first.
#include "jit/progress.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "core/text.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kNoticeable{500};

}  // namespace

void print_line(const std::string& text) {
  const std::string line = cat("fovea: ", text, "\n");
  // Nothing can be done about a stderr that is closed.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

CompileNotice::CompileNotice(std::string what, bool quiet) : what_(std::move(what)) {
  if (!quiet) watcher_ = std::thread([this] { watch(); });
}

void CompileNotice::watch() {
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  if (!ended_.wait_for(lock, kNoticeable, [this] { return done_; })) {
    print_line(cat("compiling ", what_, " (once; the result is kept) ..."));
    ended_.wait(lock, [this] { return done_; });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    print_line(cat("compilation of ", what_, " ended after ", std::round(seconds * 10) / 10, " s"));
  }
}

CompileNotice::~CompileNotice() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

}  // namespace fovea
