#include "examples/permu/permu.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::Permu>(argc, argv); }
