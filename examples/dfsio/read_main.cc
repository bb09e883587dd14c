#include "examples/dfsio/dfsio.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::DfsioRead>(argc, argv); }
