#include "examples/adjacencylist/adjacencylist.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::AdjacencyList>(argc, argv); }
