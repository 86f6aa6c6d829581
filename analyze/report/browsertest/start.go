package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
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

// startPatience bounds how long a browser may take until it answers.
const startPatience = 8 * time.Minute

// shared is the browser of all tests of a package whose TestMain calls Main. A start takes as much
// processor time as a whole test.
var shared struct {
	wanted bool
	mu     sync.Mutex // guards ctx and ends
	ctx    context.Context
	ends   []func()
}

// Main runs the tests of a package, which have one browser. Tests have windows without common
// cookies, storage or caches.
func Main(m *testing.M) (code int) {
	shared.wanted = true
	code = m.Run()
	for _, end := range slices.Backward(shared.ends) {
		end()
	}
	return code
}

// Start starts a browser that ends with the test, or opens a window in that of Main. All its work
// together has a time limit; no result depends on that.
func Start(t testing.TB, patience time.Duration) context.Context {
	t.Helper()
	path := Path(t)
	if !shared.wanted {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		t.Cleanup(cancel)
		return twice(t, ctx, path, t.Cleanup)
	}
	shared.mu.Lock() // parallel tests wait for the start
	defer shared.mu.Unlock()
	if shared.ctx == nil || shared.ctx.Err() != nil {
		shared.ctx = nil // until one has started
		shared.ctx = twice(t, context.Background(), path, func(end func()) { shared.ends = append(shared.ends, end) })
	}
	ctx, cancel := context.WithTimeout(shared.ctx, patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		shared.ctx = nil // the next test has another browser
		t.Fatal(err)
	}
	return ctx
}

// twice starts a browser. One that ends at its start, before it answers, is started once more.
func twice(t testing.TB, within context.Context, path string, atEnd func(func())) context.Context {
	t.Helper()
	ctx, err := start(t, within, path, atEnd)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) { // no page was loaded yet
		t.Logf("the browser ended at its start, and is started again: %v", err)
		ctx, err = start(t, within, path, atEnd)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

func start(t testing.TB, ctx context.Context, path string, atEnd func(func())) (context.Context, error) {
	t.Helper()
	home, err := os.MkdirTemp("", "b") // short: a socket lies in it; and removed when the browser has ended
	if err != nil {
		t.Fatal(err)
	}
	atEnd(func() { _ = os.RemoveAll(home) })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1400, 1000),
		chromedp.WSURLReadTimeout(startPatience),
		chromedp.Env("TMPDIR="+home, "HOME="+home, "XDG_RUNTIME_DIR="+home),
		chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which root cannot have
	}
	ctx, cancel := chromedp.NewExecAllocator(ctx, options...)
	atEnd(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	atEnd(cancel)
	late := time.AfterFunc(startPatience, cancel)
	defer late.Stop()
	return ctx, chromedp.Do(ctx)
}
