#include "examples/histogrammovies/histogrammovies.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::HistogramMovies>(argc, argv); }
