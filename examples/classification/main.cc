#include "examples/classification/classification.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::Classification>(argc, argv); }
