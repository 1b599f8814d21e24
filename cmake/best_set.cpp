// Prints the best instruction set that this processor has, of those in instruction_sets.h.
#include <cstdio>

#include "base/dispatch.cpp"

int main() { std::puts(memetik::name_of(memetik::active_instruction_set())); }
