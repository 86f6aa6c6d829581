// Package sockets records the socket calls of a program and of its children, by eBPF.
//
// Three programs run in the kernel, at the raw tracepoints sys_enter, sys_exit and sk_data_ready.
// They need no code in the target and no tracefs. The target runs in a cgroup of its own, which the
// programs check: calls of other processes end there. Programs are assembled here, with offsets
// from the kernel's type information (BTF). They read memory of the kernel, and addresses that a
// process passes to connect and sendto. They never read data of users.
//
//	sys_enter ──▶ open calls, by thread ──▶ sys_exit ──▶ ring ──▶ Recorder ──▶ raw file
//	                                   sk_data_ready ──▶
//
// Times are those of CLOCK_MONOTONIC. A full ring loses records, which are counted. io_uring, and
// calls of 32-bit programs, are not recorded.
package sockets
