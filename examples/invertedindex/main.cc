#include "examples/invertedindex/invertedindex.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::InvertedIndex>(argc, argv); }
