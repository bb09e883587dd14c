#include "examples/termvector/termvector.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::TermVector>(argc, argv); }
