// The fovea command line tool.
#include <iostream>

#include "tools/fovea/cli.h"

int main(int argc, char** argv) { return fovea::cli::run_cli(argc, argv, std::cout, std::cerr); }
