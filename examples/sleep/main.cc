#include "examples/sleep/sleep.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::Sleep>(argc, argv); }
