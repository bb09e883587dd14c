#include "examples/loadgen/loadgen.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::LoadGenRandom>(argc, argv); }
