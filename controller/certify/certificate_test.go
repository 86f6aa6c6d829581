package certify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

func metadataOf(value string) capture.Metadata {
	return capture.Metadata{Name: playedName, Value: json.RawMessage(value)}
}

// card is a capture card under a path.
func card(t *testing.T, path, bus string, height int) capture.Info {
	t.Helper()
	f, err := frame.NewFormat(frame.BGR4, height*16/9, height)
	if err != nil {
		t.Fatal(err)
	}
	about, err := json.Marshal(map[string]string{"driver": "uvcvideo", "card": "Some / Card: 1", "bus": bus,
		"input": "HDMI"})
	if err != nil {
		t.Fatal(err)
	}
	return capture.Info{URI: "v4l2:" + path + "?format=BGR4", Format: f, Period: capture.Rational{Num: 1, Den: 60},
		Metadata: []capture.Metadata{{Name: deviceMetadata, Value: about}}}
}

// TestCertificateIsFound keeps one and looks for it: a card is the same under another path, and
// another in another place; a mode is certified for itself.
func TestCertificateIsFound(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "a", "b")}
	day := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	if got := s.standingOf(card(t, "/dev/video0", "usb-1", 720)); got.Certified || got.Why == "" {
		t.Errorf("in an empty store: %+v", got)
	}
	path, err := s.Save(NewCertificate(card(t, "/dev/video0", "usb-1", 720), "p", day, &Report{Verdict: Remark}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		info      capture.Info
		certified bool
		why       string
	}{
		{"the same", card(t, "/dev/video0", "usb-1", 720), true, ""},
		{"under another path", card(t, "/dev/video7", "usb-1", 720), true, ""},
		{"at another port", card(t, "/dev/video0", "usb-2", 720), false, "no certificate"},
		{"in another mode", card(t, "/dev/video0", "usb-1", 1080), false, "1280x720 BGR4 at 60/s"},
		{"a display", capture.Info{URI: "x11::9", Format: card(t, "", "", 720).Format}, false, "no certificate"},
	} {
		got := s.standingOf(tc.info)
		if got.Certified != tc.certified || !strings.Contains(got.Why, tc.why) {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if tc.certified && (got.Verdict != Remark || got.File != filepath.Base(path) || len(got.SHA256) != 64 ||
			!got.Date.Equal(day.Truncate(time.Second))) {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
	if again, err := s.Save(NewCertificate(card(t, "/dev/video7", "usb-1", 720), "p", day.Add(time.Hour),
		&Report{Verdict: Fail})); err != nil || again != path {
		t.Errorf("certified again: %s, %v, want %s replaced", again, err, path)
	}
	if got := s.standingOf(card(t, "/dev/video0", "usb-1", 720)); got.Verdict != Fail {
		t.Errorf("the older certificate stands: %+v", got)
	}
}

// TestDisplaysAreTold apart by their number and the server's program, however the number is
// spelled.
func TestDisplaysAreTold(t *testing.T) {
	t.Setenv("DISPLAY", ":77.0")
	screen := func(uri, server string) capture.Info {
		about, err := json.Marshal(map[string]string{"name": server})
		if err != nil {
			t.Fatal(err)
		}
		return capture.Info{URI: uri, Format: card(t, "", "", 720).Format,
			Metadata: []capture.Metadata{{Name: serverMetadata, Value: about}}}
	}
	s := Store{t.TempDir()}
	if _, err := s.Save(NewCertificate(screen("x11::77", "Xorg, release 1"), "p", time.Now(),
		&Report{Verdict: Pass})); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		uri, server string
		certified   bool
	}{
		{"x11::77?fps=60", "Xorg, release 1", true},
		{"x11::77.0", "Xorg, release 1", true},
		{"x11:unix:77", "Xorg, release 1", true},
		{"x11:", "Xorg, release 1", true},
		{"x11::77.1", "Xorg, release 1", false},
		{"x11::78", "Xorg, release 1", false},
		{"x11::77", "Xorg, release 2", false},
		{"x11::77", "Xvnc, release 1", false},
	} {
		if got := s.standingOf(screen(tc.uri, tc.server)); got.Certified != tc.certified {
			t.Errorf("%s of %s: %+v", tc.uri, tc.server, got)
		}
	}
}

// TestProbe finds out that nothing can be kept, and leaves nothing where it can.
func TestProbe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := (Store{dir}).Probe(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Store{filepath.Join(file, "store")}).Probe(); err == nil {
		t.Error("certificates can be kept in a file")
	}
}

// TestStoreIsNotTrusted puts files beside the certificates that are none.
func TestStoreIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"text.json": "hello", "empty.json": "", "verdict.json": `{"version":1,"verdict":"fine"}`,
		"version.json": `{"version":9,"verdict":"pass"}`, "other.txt": `{"version":1,"verdict":"pass"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if all, err := (Store{dir}).all(); err != nil || len(all) > 0 {
		t.Errorf("found %+v, %v", all, err)
	}
}

// TestDelayIsOnRecord: a recording's metadata has the delay of its path, if a valid certificate
// bounds it. An invalid delay is ignored.
func TestDelayIsOnRecord(t *testing.T) {
	info := card(t, "/dev/video0", "usb-1", 720)
	measured := Delay{MinLow: 28e6, MinHigh: 31e6, MedianLow: 30e6, MedianTop: 34e6, MaxLow: 33e6, MaxHigh: 35e6}
	for _, tc := range []struct {
		name   string
		report Report
		ok     bool
	}{
		{"measured", Report{Verdict: Pass, Delay: measured}, true},
		{"with remarks", Report{Verdict: Remark, Delay: measured}, true},
		{"failed", Report{Verdict: Fail, Delay: measured}, false},
		{"not measured", Report{Verdict: Pass}, false},
	} {
		s := Store{t.TempDir()}
		if _, err := s.Save(NewCertificate(info, "p", time.Now(), &tc.report)); err != nil {
			t.Fatal(err)
		}
		t.Setenv(storeVariable, s.Dir)
		told := Metadata(info)
		if len(told) != 1 {
			t.Fatalf("%s: metadata %v", tc.name, told)
		}
		delay, within, ok := response.CertifiedDelay(told[0].Value)
		if ok != tc.ok || ok && (delay != 32*time.Millisecond || within != 4*time.Millisecond) {
			t.Errorf("%s: the delay is %v ± %v, %v", tc.name, delay, within, ok)
		}
	}
	for _, bad := range []string{
		`"fast"`, `{}`, `{"certified":true}`,
		`{"certified":false,"verdict":"pass","delay":{"low_ns":1,"median_ns":2,"high_ns":3}}`,
		`{"certified":true,"verdict":"pass","delay":{"low_ns":-1,"median_ns":2,"high_ns":3}}`,
		`{"certified":true,"verdict":"pass","delay":{"low_ns":3,"median_ns":2,"high_ns":1}}`,
		`{"certified":true,"verdict":"pass","delay":{"low_ns":1,"median_ns":2,"high_ns":10000000001}}`,
	} {
		if delay, _, ok := response.CertifiedDelay(json.RawMessage(bad)); ok {
			t.Errorf("%s tells %v", bad, delay)
		}
	}
}
