//go:build linux && cgo

package main

/*
#include <sys/prctl.h>

#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT 47
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif

// Before any other thread is there: with cgo no call reaches them all.
__attribute__((constructor)) static void keep_rights(void) {
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}
*/
import "C"

// keepRights has been done when Go starts: see the file for builds without cgo.
func keepRights() {}
