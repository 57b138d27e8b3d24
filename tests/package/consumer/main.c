/* A C caller of an installed fovea: prints the version that the library reports. */
#include <fovea/fovea.h>
#include <stdio.h>

int main(void) { return printf("%s\n", fovea_version()) > 0 ? 0 : 1; }
