#include "examples/kmeans/kmeans_iterate.h"

int main(int argc, char** argv) { return millrace::RunPipeline<millrace::examples::KMeansIterate>(argc, argv); }
