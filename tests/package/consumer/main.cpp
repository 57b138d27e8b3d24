// A C++ caller of an installed fovea: the C++ header compiles on its own and the library answers.
#include <fovea/fovea.hpp>
#include <iostream>

int main() {
  std::cout << fovea_version() << '\n';
  return 0;
}
