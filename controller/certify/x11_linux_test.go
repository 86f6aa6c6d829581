package certify

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/x11"
	"github.com/eideticker/eideticker/controller/device"
)

// TestXDisplay certifies the x11 source with a real X server: a picture put on a display is grabbed
// from it, and must be unchanged. A busy machine must not be blamed on the path. It counts as the
// player's fault, or as a loss.
//
// Fault: The player of `certify` is late, or the machine is busy
func TestXDisplay(t *testing.T) {
	d, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 640, Height: 360})
	if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	src, err := x11.Open(d.Name(), url.Values{"fps": {"30"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	out, err := OpenOutput("x11:"+d.Name(), OutputOptions{Source: src.Info()})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := Run(t.Context(), src, out, Options{Duration: 4 * time.Second, Path: filepath.Join(t.TempDir(), "a.eid")})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Logf("%-10s %-10s %-8s %s -> %s", f.Property, f.Verdict, f.Kind, f.Sent, f.Came)
		machine := f.Property == propertyPlayer || f.Property == propertyLosses || f.Property == propertyDrops ||
			f.Property == propertyRate || f.Property == propertyDelay
		if f.Verdict != Pass && !(machine && f.Verdict == Remark) {
			t.Errorf("%s: %s, %s: %s", f.Property, f.Verdict, f.Came, f.Advice)
		}
	}
	t.Logf("%+v\n%+v\n%+v", r.Played, r.Time, r.Delay)
}
