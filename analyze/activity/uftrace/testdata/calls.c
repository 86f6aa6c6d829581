// Calls in threads, recursive ones, ones that longjmp leaves, and an exit in a callee.
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#define CALLEE __attribute__((noinline, noclone))

static volatile int sum;

CALLEE int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

CALLEE void inner(jmp_buf to, int n) {
	sum++;
	if (n == 0) longjmp(to, 1);
	inner(to, n - 1);
	sum++;
}

CALLEE void jumps(void) {
	jmp_buf here;
	for (volatile int i = 0; i < 5; i++)
		if (setjmp(here) == 0) inner(here, i);
	sum += fib(3);
}

CALLEE void *thread(void *n) {
	sum += fib(10);
	return n;
}

CALLEE void last(int n) {
	sum += fib(n);
	exit(0);
}

CALLEE void outer(int n) {
	last(n);
	sum++;
}

int main(void) {
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, thread, 0);
	jumps();
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	outer(7);
	return 1;
}
