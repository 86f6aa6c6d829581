package device

import (
	"strings"
	"testing"
)

// TestBrowserThatRuns: where nothing starts browsers, the one that runs has a name only if it can
// be no other.
func TestBrowserThatRuns(t *testing.T) {
	for _, tc := range []struct {
		there       string // the device's browsers
		asked, want string // want of an error begins with !
	}{
		{"", "", ""}, {"", Running, Running}, {"", "chrome", `!starts no browser "chrome"`},
		{"typed", "", Running}, {"typed", "chrome", `!has no browser "chrome"`},
		{"chrome", "", "chrome"}, {"chrome", "chrome", "chrome"}, {"chrome", Running, Running},
		{"chrome", "firefox", `!has no browser "firefox"`},
		{"chrome firefox", "", "!which of chrome, firefox runs"},
		{"chrome firefox", "firefox", "!which of chrome, firefox runs"}, {"chrome firefox", Running, Running},
		{"chrome typed", "", Running}, {"chrome typed", "chrome", `!starts no browser "chrome"`},
	} {
		d := Description{Name: "phone", Source: "v4l2:/dev/video0", Input: Input{Kind: InputHID, Target: "/dev/hidg0"},
			Browsers: strings.Fields(tc.there)}
		got, err := d.Browser(tc.asked)
		switch want, refused := strings.CutPrefix(tc.want, "!"); {
		case refused && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q of [%s]: %v, want %s", tc.asked, tc.there, err, want)
		case !refused && (err != nil || got != want):
			t.Errorf("%q of [%s]: %q, %v, want %q", tc.asked, tc.there, got, err, want)
		}
	}
}
