package browsertest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/deploy/built"
)

// TestCrashAtStart starts a browser that ends at once the first time.
func TestCrashAtStart(t *testing.T) {
	real, dir := Path(t), t.TempDir()
	script := "#!/bin/sh\n[ -e \"$0.crashed\" ] || { touch \"$0.crashed\"; exit 1; }\nexec " + real + " \"$@\"\n"
	built.Executable(t, filepath.Join(dir, "chromium"), script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	v, err := chromedp.Run(Start(t, 4*time.Minute), chromedp.Evaluate[int](`1 + 1`))
	if err != nil || v != 2 {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chromium.crashed")); err != nil {
		t.Error(err)
	}
}
