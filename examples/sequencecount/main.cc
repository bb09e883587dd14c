#include "examples/sequencecount/sequencecount.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::SequenceCount>(argc, argv); }
