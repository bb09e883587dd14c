#include "examples/histogramratings/histogramratings.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::HistogramRatings>(argc, argv); }
