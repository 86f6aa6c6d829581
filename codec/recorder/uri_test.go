package recorder

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseURI(t *testing.T) {
	for _, tc := range []struct {
		name, uri, scheme, target string
		query                     url.Values
	}{
		{"display", "x11::9", "x11", ":9", nil},
		{"display of the environment", "x11", "x11", "", nil},
		{"plus stays plus", "x11::9?region=1280x720+0+0&cursor=0", "x11", ":9",
			url.Values{"region": {"1280x720+0+0"}, "cursor": {"0"}}},
		{"standard input", "raw:-?size=2x2&format=BGR4", "raw", "-", url.Values{"size": {"2x2"}, "format": {"BGR4"}}},
		{"colons and percents in a file's name", "y4m:a:b%20c.y4m", "y4m", "a:b%20c.y4m", nil},
		{"escaped value", "raw:f?fps=60000%2F1001", "raw", "f", url.Values{"fps": {"60000/1001"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, target, query, err := parseURI(tc.uri)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != tc.scheme || target != tc.target || !reflect.DeepEqual(query, tc.query) {
				t.Errorf("%s %q %v, want %s %q %v", s.Name, target, query, tc.scheme, tc.target, tc.query)
			}
		})
	}
}

// Fault: Unknown scheme or bad parameter
func TestBadURI(t *testing.T) {
	for _, tc := range []struct{ name, uri, want string }{
		{"empty", "", "known are v4l2 x11 raw y4m video synth"},
		{"unknown scheme", "ftp:x", `unknown scheme "ftp", known are v4l2 x11 raw y4m video synth`},
		{"a file without a scheme", "clip.y4m", `unknown scheme "clip.y4m"`},
		{"no capture device", "v4l2:", "no device"},
		{"a capture device's memory", "v4l2:/dev/video0?memory=tape", "mmap userptr dmabuf"},
		{"a capture device's modes", "v4l2:/dev/video0?edid=1080p", "want WxH@RATE"},
		{"no target", "raw", "want raw:FILE"},
		{"no file", "raw:?size=2x2", "no file given"},
		{"no scene", "synth:", "no scene given"},
		{"no value", "x11::0?cursor", "want NAME=VALUE"},
		{"empty value", "x11::0?cursor=", "want NAME=VALUE"},
		{"no name", "x11::0?=1", "want NAME=VALUE"},
		{"ends in a question mark", "x11::0?", "want NAME=VALUE"},
		{"given twice", "x11::0?cursor=1&cursor=0", "given twice"},
		{"broken escape", "x11::0?region=%zz", "invalid URL escape"},
		{"a parameter that a display has not", "x11::0?size=2x2", "unknown parameter"},
		{"a value that cannot be read", "x11::0?cursor=maybe", "bad cursor"},
		{"a region without a place", "x11::0?region=10x10", "bad region"},
		{"raw without a size", "raw:clip.raw", "add ?size="},
		{"a format nobody knows", "raw:clip.raw?size=2x2&format=ABCD", "unknown pixel format"},
		{"a format that cannot be", "raw:clip.raw?size=3x2&format=YUYV", "no odd widths"},
		{"a scene's rate", "synth:page?fps=0", "bad fps"},
		{"a parameter that Y4M has not", "y4m:clip.y4m?fps=60", "unknown parameter"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := OpenSource(t.Context(), tc.uri)
			if !errors.Is(err, ErrURI) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one of the URI with %q", err, tc.want)
			}
		})
	}
}

func TestWithParameter(t *testing.T) {
	for _, tc := range []struct{ uri, want string }{
		{"x11::0", "x11::0?fps=30"},
		{"x11::0?cursor=0", "x11::0?cursor=0&fps=30"},
		{"x11::0?fps=60", ""},
	} {
		got, err := WithParameter(tc.uri, "fps", "30")
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v", tc.uri, got, err)
		}
	}
}

func TestReads(t *testing.T) {
	dir := t.TempDir()
	clip, link, other := filepath.Join(dir, "clip"), filepath.Join(dir, "link"), filepath.Join(dir, "other")
	for _, path := range []string{clip, other} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(clip, link); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, uri, path string
		want            bool
	}{
		{"the same", "raw:" + clip + "?size=1x1", clip, true},
		{"the same by another name", "y4m:" + clip, link, true},
		{"another", "video:" + clip, other, false},
		{"not there yet", "video:" + clip, filepath.Join(dir, "new"), false},
		{"standard input", "raw:-", clip, false},
		{"no file at all", "synth:" + clip, clip, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Reads(tc.uri, tc.path); got != tc.want {
				t.Errorf("%s reads %s: %v", tc.uri, tc.path, got)
			}
		})
	}
}
