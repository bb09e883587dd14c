#include "examples/kmeans/kmeans.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::KMeans>(argc, argv); }
