// The one piece of state of the binding. The C ABI has none: it takes a context in every call.
#include "context.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace fovea::python {
namespace {

std::atomic<fovea_context*> current{nullptr};
std::mutex* creation = new std::mutex;  // never destroyed: threads may call while the process ends

void forget_after_fork() {
  current = nullptr;
  creation = new std::mutex;
}

}  // namespace

fovea_context* default_context(Refusal& refused) {
  if (fovea_context* context = current.load(std::memory_order_acquire)) return context;
  const std::lock_guard<std::mutex> lock(*creation);
  if (fovea_context* context = current.load()) return context;
  static const int registered = pthread_atfork(nullptr, nullptr, &forget_after_fork);
  static_cast<void>(registered);
  fovea_context* context = nullptr;
  fovea_error error = new_error();
  if (fovea_context_create(nullptr, &context, &error) != FOVEA_OK) {
    refused = refusal(error);
    return nullptr;
  }
  current.store(context, std::memory_order_release);
  return context;
}

}  // namespace fovea::python
