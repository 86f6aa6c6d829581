//go:build cgo

package video

/*
#cgo linux LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>

// cv::utils::logging::setLogLevel, by its name in the library: gocv has no call for it.
static void hush_opencv(void) {
	void (*set_level)(int) = dlsym(RTLD_DEFAULT, "_ZN2cv5utils7logging11setLogLevelENS1_8LogLevelE");
	if (set_level) set_level(0);
}
*/
import "C"

// hush keeps OpenCV and FFmpeg from writing to standard error about files that are not as they should be. They can
// only be hushed for the whole process. What matters of it is found and told by this package.
func hush() {
	C.hush_opencv()
	hushFFmpeg()
}
