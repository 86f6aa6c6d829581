// A tree of processes and threads. For each line of its input it runs one of its parts, and answers with the CPU time
// of all so far, in ns.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sum;

// It works for 60 ms. The CPU time of a thread may include time that the host took away. So the
// work has a least amount.
static __attribute__((noinline)) void burn(void) {
	struct timespec t;
	long end, n = 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + 60;
	do {
		for (int i = 0; i < 5000; i++) sum += i * 0.5;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (++n < 1500 || t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

// Without work after the call, the compiler would jump instead.
#define PART(name) static __attribute__((noinline)) void name(void) { burn(); sum += 1; }
PART(in_main)
PART(in_thread)
PART(in_child)
PART(after_exec)

static __attribute__((noinline)) void waits(void) {
	usleep(30000);
	sum += 1;
}

static void *thread(void *unused) {
	pthread_setname_np(pthread_self(), "second thread");
	in_thread();
	return unused;
}

static long cpu(int who) {
	struct rusage u;
	getrusage(who, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

int main(int argc, char **argv) {
	char line[80];
	if (argc > 1) {
		after_exec();
		return 0;
	}
	setvbuf(stdout, 0, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		pthread_t t;
		if (strcmp(line, "main\n") == 0) in_main();
		if (strcmp(line, "wait\n") == 0) waits();
		if (strcmp(line, "thread\n") == 0 && pthread_create(&t, 0, thread, 0) == 0) pthread_join(t, 0);
		if (strcmp(line, "child\n") == 0) {
			if (fork() == 0) {
				in_child();
				execl("/proc/self/exe", argv[0], "again", (char *)0);
			}
			wait(0);
		}
		printf("%ld\n", cpu(RUSAGE_SELF) + cpu(RUSAGE_CHILDREN));
	}
	return 0;
}
