#include "examples/terasort/terasort.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::TeraSort>(argc, argv); }
