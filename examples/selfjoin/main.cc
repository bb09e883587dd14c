#include "examples/selfjoin/selfjoin.h"

int main(int argc, char** argv) { return millrace::Run<millrace::examples::SelfJoin>(argc, argv); }
