package rig

import (
	"errors"
	"net/url"
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
		{"plus stays plus", "x11::9?region=1280x720+0+0&cursor=0", "x11", ":9", url.Values{"region": {"1280x720+0+0"}, "cursor": {"0"}}},
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

func TestBadURI(t *testing.T) {
	for _, tc := range []struct{ name, uri, want string }{
		{"empty", "", "known are x11 raw y4m video synth"},
		{"unknown scheme", "ftp:x", `unknown scheme "ftp", known are x11 raw y4m video synth`},
		{"a file without a scheme", "clip.y4m", `unknown scheme "clip.y4m"`},
		{"capture card", "v4l2:/dev/video0", "come with a later version"},
		{"no target", "raw", "want raw:FILE"},
		{"no file", "raw:?size=2x2", "no file given"},
		{"no scene", "synth:", "no scene given"},
		{"no value", "x11::0?cursor", "want NAME=VALUE"},
		{"empty value", "x11::0?cursor=", "want NAME=VALUE"},
		{"no name", "x11::0?=1", "want NAME=VALUE"},
		{"ends in a question mark", "x11::0?", "want NAME=VALUE"},
		{"given twice", "x11::0?cursor=1&cursor=0", "given twice"},
		{"broken escape", "x11::0?region=%zz", "invalid URL escape"},
		{"a parameter that Y4M has not", "y4m:clip.y4m?fps=60", "unknown parameter"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := OpenSource(tc.uri)
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
