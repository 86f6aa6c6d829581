package x11

import (
	"testing"

	"github.com/eideticker/eideticker/controller/input"
)

func do(t testing.TB, d *Driver, actions ...input.Action) {
	t.Helper()
	if sent, err := d.Do(t.Context(), 0, actions...); err != nil {
		t.Fatal(err)
	} else if !sent.Valid() || sent.Earliest == 0 {
		t.Fatalf("sent at %v", sent)
	}
}

const ascii = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// sample is text of many kinds: combining marks, several scripts, and characters outside the first
// plane.
const sample = "Grüße, ça va? naïve €5 e\u0301 αβγ Ωμέγα Привет 日本語 한국어 ไทย עברית العربية 😀🇩🇪👩‍💻 𝄞 ½ “x”—…\u00a0\uFFFD"

func TestText(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	for _, tc := range []struct {
		name string
		text string
	}{{"ASCII", ascii}, {"sample", sample}, {"lines", "a\nb\r\nc\rd\te"}} {
		t.Run(tc.name, func(t *testing.T) {
			d, c := openDriver(t, display), startClient(t, display, true, false)
			do(t, d, input.Text{Text: tc.text})
			want := tc.text
			if tc.name == "lines" {
				want = "a\nb\nc\nd\te"
			}
			if got := typed(c.all()); got != want {
				t.Errorf("typed %q\nwant  %q", got, want)
			}
		})
	}
	if after := mapping(t, display); after != before {
		t.Error("the mapping is not what it was")
	}
}
