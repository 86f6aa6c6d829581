package device

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

// TestBrowsersStartAgainAndAgain: two starts in a row of Chromium and one of Firefox, whose code is
// ours but for its arguments. With EIDETICKER_SOAK these are ten. Each has a window that fills the
// display, and no other windows. It leaves no process, file, window or descriptor.
func TestBrowsersStartAgainAndAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	for _, k := range kinds() {
		starts := map[string]int{"chromium": 2, "firefox": 1}[k.name]
		if os.Getenv("EIDETICKER_SOAK") != "" {
			starts = 10
		}
		t.Run(k.name, func(t *testing.T) {
			_, err := find(k.pkg, k.programs...)
			need(t, err)
			tmp, err := os.MkdirTemp("/tmp", "e") // short: it contains sockets
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(tmp)
			t.Setenv("TMPDIR", tmp)
			// for a machine that is busy with other things
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			display, err := StartDisplay(ctx, DisplayOptions{Width: 800, Height: 600})
			need(t, err)
			defer display.Close()
			var before []string
			for i := range starts {
				mark := startOnce(t, ctx, display, k.name)
				if n := marks(t, mark); n != 0 {
					t.Errorf("start %d: %d processes are left", i, n)
				}
				if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
					t.Errorf("start %d left %q, %v", i, left, err)
				}
				if n := len(windows(t, display)); n != 0 {
					t.Errorf("start %d: %d windows are left", i, n)
				}
				open := descriptors(t)
				if before == nil {
					before = open // the first may have opened what the runtime keeps
				}
				if len(open) > len(before) {
					t.Errorf("start %d: these descriptors are open: %q; after the first start: %q", i, open, before)
				}
			}
		})
	}
}

func startOnce(t *testing.T, ctx context.Context, display *Display, name string) (mark string) {
	t.Helper()
	b, err := StartBrowser(ctx, BrowserOptions{Name: name, Display: display, URL: "data:text/html,<title>x</title>"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	width, height := display.width, display.height
	large := 0
	for _, w := range windows(t, display) {
		if int(w.Width) == width && int(w.Height) == height && w.X == 0 && w.Y == 0 {
			large++
		}
	}
	if large != 1 {
		t.Errorf("%d windows fill the display", large)
	}
	if name == "chromium" {
		// It makes this folder below TMPDIR, or in /tmp, where it would stay.
		if to, err := os.Readlink(filepath.Join(b.profile.dir, "SingletonSocket")); err != nil ||
			!strings.HasPrefix(to, b.profile.dir+"/") {
			t.Errorf("its socket is %q, %v; want it in its profile", to, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if !errors.Is(b.Err(), os.ErrClosed) {
		t.Errorf("it ended with %v", b.Err())
	}
	return b.process.mark
}

// windows are those that are seen on a display.
func windows(t *testing.T, display *Display) (seen []*xproto.GetGeometryReply) {
	t.Helper()
	s, err := openScreen(display.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		s.close()
		// its descriptor is closed behind its back
		for e, xerr := s.conn.WaitForEvent(); e != nil || xerr != nil; e, xerr = s.conn.WaitForEvent() {
		}
	}()
	tree, err := xproto.QueryTree(s.conn, s.root).Reply()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range tree.Children {
		a, err := xproto.GetWindowAttributes(s.conn, w).Reply()
		if err != nil || a.MapState != xproto.MapStateViewable {
			continue // gone, or not shown
		}
		if g, err := xproto.GetGeometry(s.conn, xproto.Drawable(w)).Reply(); err == nil {
			seen = append(seen, g)
		}
	}
	return seen
}

// descriptors returns the open files, each as the kernel names it.
func descriptors(t *testing.T) (names []string) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err != nil {
			to = "the folder of descriptors itself" // which is closed by now
		}
		names = append(names, fd.Name()+" "+to)
	}
	return names
}
