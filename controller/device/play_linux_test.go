package device_test

import (
	"context"
	"errors"
	"image"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

const width, height = 800, 450 // the strip fits, and a frame has two fifths of the usual pixels

// playedElsewhere are pages that tests of the session play: the standard suite, those of messages
// and networks, and TestChecksAreMadeAgain. Their numbers are as drawn. So these tests see more
// than this package does.
var playedElsewhere = []string{"checkerboard-scroll", "framerate", "load", "stutter", "tearing-combined", "tell"}

// variants differ by a number or a part from a page that is played: framerate-uneven, load and
// tearing-combined, which has all three layers.
var variants = []string{"framerate-half", "framerate-video", "load-slow", "tearing-canvas", "tearing-dom",
	"tearing-video"}

// TestBrowserPlaysTheTestPages has a browser on a virtual display play pages that play by
// themselves, one of each kind. With EIDETICKER_SOAK it plays all of them. The screen must show
// what the pages report that they drew.
func TestBrowserPlaysTheTestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	t.Parallel()
	tmp, err := os.MkdirTemp("/tmp", "e") // short: it contains sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // for a machine that is busy with other things
	defer cancel()
	display, err := device.StartDisplay(ctx, device.DisplayOptions{Width: width, Height: height})
	need(t, err)
	defer display.Close()
	var list []string
	for _, p := range site.Pages() {
		// those wait for a hand, and a window without green has begun before it asks
		if p.Markers && p.Cadence != site.CadenceInput &&
			(os.Getenv("EIDETICKER_SOAK") != "" || !slices.Contains(slices.Concat(playedElsewhere, variants), p.Name)) {
			list = append(list, p.Name)
		}
	}
	s, err := site.New(site.Options{Strip: strip.Spec(), Playlist: list})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Handler: s})
	if err != nil {
		t.Fatal(err)
	}
	server.HTTP(l)
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Run(serving) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	seen := make(chan map[uint8]*strip.Account, 1)
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go func() { seen <- watch(t, watching, display.Name(), len(s.Playlist())) }()

	browser, err := device.StartBrowser(ctx, device.ProfilesIn(tmp, device.BrowserOptions{Name: "chromium",
		Display: display, URL: "http://" + l.Addr().String() + s.Start()}))
	need(t, err)
	defer browser.Close()
	if !strings.Contains(strings.ToLower(browser.Version()), "chrom") {
		t.Errorf("it calls itself %q", browser.Version())
	}
	var reports []site.Report
	for range s.Playlist() {
		r, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err, browser.Err())
		}
		reports = append(reports, r)
	}
	unwatch()
	pages := <-seen
	for _, r := range reports {
		checkReport(t, r)
		checkSeen(t, r, pages[r.Number].Close(r.IDs()))
	}

	if err := browser.Close(); err != nil {
		t.Error(err)
	}
	if !errors.Is(browser.Err(), os.ErrClosed) {
		t.Errorf("browser ended with %v", browser.Err())
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if left := mentioning(t, tmp); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

func checkReport(t *testing.T, r site.Report) {
	t.Logf("%s: %d frames drawn in %d callbacks, claims %.1f fps, clock known to %v", r.Page.Name, len(r.Drawn),
		r.Callbacks, r.ClaimedFPS, r.RedFrom.Width()/2)
	if r.Width != width || r.Height != height || r.PixelRatio != 1 || len(r.Warnings) > 0 {
		t.Errorf("%s: viewport %dx%d, ratio %g, warnings %q", r.Page.Name, r.Width, r.Height, r.PixelRatio, r.Warnings)
	}
	if r.Page.Cadence == site.EveryFrame && len(r.Drawn) != r.Callbacks {
		t.Errorf("%s: %d frames drawn in %d callbacks", r.Page.Name, len(r.Drawn), r.Callbacks)
	}
	if r.Page.Cadence == site.CadenceSteps && len(r.Drawn) > len(r.Page.Steps) {
		t.Errorf("%s: %d frames drawn in %d steps", r.Page.Name, len(r.Drawn), len(r.Page.Steps))
	}
	checkTruth(t, r)
	if r.Requested >= r.Received || r.GreenFrom.Latest < r.Requested || r.RedTo.Earliest > r.Received {
		t.Errorf("%s: asked for at %d, green from %v, red to %v, report at %d", r.Page.Name, r.Requested, r.GreenFrom,
			r.RedTo, r.Received)
	}
}

// checkTruth holds what a page says of its pictures against its manifest.
func checkTruth(t *testing.T, r site.Report) {
	const strip = 5 * 96 * 8 * 8
	truth := r.Truth
	if truth.Pixels != width*height-strip {
		t.Errorf("%s: %d pixels outside the strip, want %d", r.Page.Name, truth.Pixels, width*height-strip)
	}
	if r.Page.Loads() {
		last := len(truth.Counts) - 1
		if len(truth.StepIDs) != len(r.Page.Steps) || last != len(r.Drawn)-1 || truth.Counts[last] != truth.Pixels ||
			!slices.IsSorted(truth.Counts) {
			t.Errorf("%s: steps in pictures %v, final pixels %v of %d", r.Page.Name, truth.StepIDs, truth.Counts,
				truth.Pixels)
		}
	}
	if r.Page.Checker != nil && (len(truth.Counts) != len(r.Drawn) || len(truth.Tiles) < 20) {
		t.Errorf("%s: %d counts, %d tiles", r.Page.Name, len(truth.Counts), len(truth.Tiles))
	}
	if r.Page.Flip != nil && r.Page.Flip.Torn != (len(truth.Tears) > 0) {
		t.Errorf("%s: %d pictures drawn torn", r.Page.Name, len(truth.Tears))
	}
}

// checkSeen compares the seen frames with the report. The number of seen frames depends on the
// machine.
func checkSeen(t *testing.T, r site.Report, s strip.Summary) {
	t.Logf("%s: %d of %d ids seen in %d readings", r.Page.Name, s.Distinct, s.Drawn, s.Frames)
	if s.Distinct == 0 {
		t.Errorf("%s: its strip was never seen", r.Page.Name)
	}
	if len(s.Undrawn) > 0 || len(s.OutOfOrder) > 0 {
		t.Errorf("%s: ids seen and not drawn: %v; out of order in readings %v", r.Page.Name, s.Undrawn, s.OutOfOrder)
	}
}

// watch reads the strip from the screen until ctx ends, and returns what it saw of each page.
func watch(t *testing.T, ctx context.Context, display string, pages int) map[uint8]*strip.Account {
	accounts := map[uint8]*strip.Account{}
	for n := uint8(1); int(n) <= pages; n++ {
		accounts[n] = strip.NewAccount(n)
	}
	c, err := xgb.NewConnDisplay(display)
	if err != nil {
		t.Error(err)
		return accounts
	}
	defer c.Close()
	f, err := frame.NewFormat(frame.BGR4, width, height)
	if err != nil {
		t.Error(err)
		return accounts
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Error(err)
		return accounts
	}
	d, err := strip.NewDecoder(l, image.Rectangle{})
	if err != nil {
		t.Error(err)
		return accounts
	}
	root := xproto.Setup(c).DefaultScreen(c).Root
	for n := 0; ctx.Err() == nil; n++ {
		g, err := xproto.GetImage(c, xproto.ImageFormatZPixmap, xproto.Drawable(root), 0, 0, width, height,
			0xffffffff).Reply()
		if err != nil {
			t.Error(err)
			return accounts
		}
		r := d.Read(l.View(g.Data))
		if a := accounts[r.Code.Page()]; r.State != strip.None && a != nil {
			a.Add(n, true, r)
		}
		sleep(ctx, 5*time.Millisecond) // leaves the browser some of the machine
	}
	return accounts
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// mentioning lists processes whose command line mentions a folder.
func mentioning(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), dir) {
			found = append(found, strings.ReplaceAll(string(line[:min(len(line), 300)]), "\x00", " "))
		}
	}
	return found
}

// need skips the test on a developer's machine where a program is missing; the build machine has
// it.
func need(t *testing.T, err error) {
	t.Helper()
	var missing *device.MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && os.Getenv("CI") != "true":
		t.Skipf("%v: no page is played", err)
	default:
		t.Fatal(err)
	}
}
