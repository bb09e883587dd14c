#include "examples/wordcount/wordcount.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::WordCount>(argc, argv); }
