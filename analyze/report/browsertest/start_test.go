package browsertest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestCrashAtStart starts a browser that ends at once the first time.
func TestCrashAtStart(t *testing.T) {
	real, dir := Path(t), t.TempDir()
	script := "#!/bin/sh\n[ -e \"$0.crashed\" ] || { touch \"$0.crashed\"; exit 1; }\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "chromium"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	v, err := chromedp.Run(Start(t, 4*time.Minute), chromedp.Evaluate[int](`1 + 1`))
	if err != nil || v != 2 {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chromium.crashed")); err != nil {
		t.Error(err)
	}
}
