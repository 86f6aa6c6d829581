package daemon_test

import (
	"bytes"
	"encoding/json"
	"image/jpeg"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// A device's screen can be viewed while idle, while it is recorded, and then again.
func TestPreview(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	p, leave, err := r.Preview("a")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	var last uint64
	next := func(when string) {
		t.Helper()
		for range 3 {
			var picture *daemon.Picture
			r.Until("a picture "+when, func() bool {
				picture, _ = p.Latest()
				return picture != nil && picture.Number > last
			})
			last = picture.Number
			img, err := jpeg.Decode(bytes.NewReader(picture.JPEG))
			if err != nil || img.Bounds().Dx() != 160 || img.Bounds().Dy() != 90 {
				t.Fatalf("%v, %v", img, err)
			}
			var info api.PictureInfo
			comment := picture.JPEG[6 : 4+int(picture.JPEG[4])<<8+int(picture.JPEG[5])]
			if picture.JPEG[2] != 0xff || picture.JPEG[3] != 0xfe || json.Unmarshal(comment, &info) != nil ||
				info.Device != "a" || info.Width != 160 {
				t.Fatalf("%q says %+v", comment, info)
			}
		}
	}
	next("of an idle device")
	if _, err := r.Record(t.Context(), "me",
		api.RecordParams{Device: "a", KeepLastNS: int64(time.Second)}); err != nil {
		t.Fatal(err)
	}
	recorded(t, r, "a") // although somebody looks on
	next("of a device whose last seconds are kept")
	if _, err := r.Daemon.Stop(t.Context(), "a", everybody); err != nil {
		t.Fatal(err)
	}
	next("of a device whose last seconds were kept")
	if _, err := r.Record(t.Context(), "me", api.RecordParams{Device: "a"}); err != nil {
		t.Fatal(err)
	}
	recorded(t, r, "a")
	next("of a recording")
	if d := r.Devices()[0]; d.Signal == nil || d.Signal.Width != 160 || d.Signal.Height != 90 {
		t.Errorf("%+v", d.Signal)
	}
	if _, err := r.Daemon.Stop(t.Context(), "a", everybody); err != nil {
		t.Fatal(err)
	}
	next("of an idle device again")
}
