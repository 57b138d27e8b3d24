// OnceMap: a value per key, made once however many threads ask; the others wait for the one that makes it. The lock is
// never held while a value is made. A failure is handed to those who waited, and then forgotten.
#pragma once

#include <future>
#include <map>
#include <mutex>
#include <string>

#include "core/error.h"

namespace fovea {

template <class T>
class OnceMap {
 public:
  // `make`: () -> Result<T>. `made` becomes true when this call made the value.
  template <class Make>
  Result<T> get(const std::string& key, Make&& make, bool& made) {
    std::promise<Result<T>> promise;
    {
      std::unique_lock lock(mutex_);
      const auto [place, first] = values_.try_emplace(key);
      if (!first) {
        const std::shared_future<Result<T>> value = place->second;
        lock.unlock();
        return value.get();
      }
      place->second = promise.get_future().share();
    }
    made = true;
    try {
      Result<T> value = make();
      if (!value.ok()) forget(key);
      promise.set_value(value);
      return value;
    } catch (...) {
      forget(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    values_.erase(key);
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_future<Result<T>>> values_;
};

}  // namespace fovea
