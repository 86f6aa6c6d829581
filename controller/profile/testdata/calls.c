// Calls of a fixed number, and the time that they take. The argument is the size.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile int sum;

__attribute__((noinline)) int leaf(int n) {
	sum += n;
	return n + 1;
}

__attribute__((noinline)) int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }

int main(int argc, char **argv) {
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	fib(atoi(argv[argc - 1]));
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
	return 0;
}
