#include "examples/teravalidate/teravalidate.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::TeraValidate>(argc, argv); }
