#include "examples/teragen/teragen.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::TeraGen>(argc, argv); }
