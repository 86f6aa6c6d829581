package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/controller/device"
)

// TestScreenComesBack puts a known picture on an X display, records the display and a part of it,
// and exports: every pixel of every frame must be the picture's. The fourth byte of a pixel is
// shown by no screen.
func TestScreenComesBack(t *testing.T) {
	const width, height = 333, 201
	d, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: width, Height: height})
	if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	picture := make([]byte, width*height*4)
	rand.NewChaCha8([32]byte{7}).Read(picture)
	defer paint(t, d.Name(), width, height, picture)()
	for _, tc := range []struct {
		name       string
		x, y, w, h int
	}{
		{"all", 0, 0, width, height},
		{"a part", 17, 9, 101, 75},
		{"a pixel", width - 1, height - 1, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			rec, out := filepath.Join(dir, "a.eid"), filepath.Join(dir, "out.raw")
			source := fmt.Sprintf("x11:%s?region=%dx%d+%d+%d&cursor=0", d.Name(), tc.w, tc.h, tc.x, tc.y)
			for _, args := range [][]string{
				{"record", "-s", source, "-t", "200ms", "-o", rec},
				{"verify", rec},
				{"export", rec, "-o", out},
			} {
				if code, _, errOut := command(t, args...); code != exitOK {
					t.Fatalf("%v: exit code %d: %s", args, code, errOut)
				}
			}
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 || len(got)%(tc.w*tc.h*4) != 0 {
				t.Fatalf("%d bytes are no frames of %dx%d", len(got), tc.w, tc.h)
			}
			for i, b := range got {
				pixel := i / 4 % (tc.w * tc.h)
				x, y := tc.x+pixel%tc.w, tc.y+pixel/tc.w
				if want := picture[(y*width+x)*4+i%4]; i%4 < 3 && b != want {
					t.Fatalf("frame %d, pixel %d,%d, byte %d: %#x, want %#x", i/4/(tc.w*tc.h), x, y, i%4, b, want)
				}
			}
		})
	}
}

// paint puts pixels on the whole screen. They stay until the function that it returns is called.
func paint(t *testing.T, display string, width, height int, pixels []byte) func() {
	t.Helper()
	c, err := xgb.NewConnDisplay(display)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	screen := xproto.Setup(c).DefaultScreen(c)
	gc, err := xproto.NewGcontextId(c)
	check(err)
	root := xproto.Drawable(screen.Root)
	check(xproto.CreateGCChecked(c, gc, root, 0, nil).Check())
	const rows = 32 // fit into a request
	for y := 0; y < height; y += rows {
		n := min(rows, height-y)
		check(xproto.PutImageChecked(c, xproto.ImageFormatZPixmap, root, gc, uint16(width), uint16(n), 0, int16(y), 0,
			screen.RootDepth, pixels[y*width*4:(y+n)*width*4]).Check())
	}
	return c.Close
}
