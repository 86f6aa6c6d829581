package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Path returns the path of a Chromium. It skips the test with -short, or where none is installed;
// with CI=true a missing one fails the test.
func Path(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Chromium is installed")
	}
	t.Skip("no Chromium is installed")
	return ""
}

// Start starts a browser that ends with the test. All its work together has a time limit; no result
// depends on that. A browser that ends at its start, before it answers, is started once more.
func Start(t testing.TB, patience time.Duration) context.Context {
	t.Helper()
	path := Path(t)
	ctx, err := start(t, path, patience)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) { // no page was loaded yet
		t.Logf("the browser ended at its start, and is started again: %v", err)
		ctx, err = start(t, path, patience)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

func start(t testing.TB, path string, patience time.Duration) (context.Context, error) {
	t.Helper()
	home, err := os.MkdirTemp("", "b") // short: a socket lies in it; and removed when the browser has ended
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1400, 1000),
		chromedp.WSURLReadTimeout(patience),
		chromedp.Env("TMPDIR="+home, "HOME="+home, "XDG_RUNTIME_DIR="+home),
		chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which root cannot have
	}
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx, chromedp.Do(ctx)
}
