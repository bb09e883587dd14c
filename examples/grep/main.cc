#include "examples/grep/grep.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::Grep>(argc, argv); }
