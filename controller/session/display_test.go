package session

import "testing"

func TestDisplayOf(t *testing.T) {
	t.Setenv("DISPLAY", ":3.1")
	for uri, want := range map[string]string{
		"x11::9": "9", "x11::12.0?fps=60&cursor=0": "12", "x11:unix:4": "4", "x11:?fps=60": "3", "x11:": "3",
		"x11:host:1": "", "x11:../../etc": "", "v4l2:/dev/video0": "", "": "",
	} {
		if got := displayOf(uri); got != want {
			t.Errorf("%s: display %q, want %q", uri, got, want)
		}
	}
}
