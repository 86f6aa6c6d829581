package serve

import (
	"strings"
	"testing"
)

// FuzzTiming: a file that people write is read, or refused with a sentence of one line.
func FuzzTiming(f *testing.F) {
	f.Add([]byte("timing:\n  - {url: /a, latency: 5ms, chunks: [{to: 1KiB, at: 1s}]}\n"))
	f.Add([]byte("timing: [{url: /e, events: [{at: 1s, data: x}]}, {url: /w, websocket: {echo: true}}]"))
	f.Add([]byte("timing: &a [*a]"))
	f.Add([]byte("a: b: c"))
	f.Add([]byte("timing: ! ")) // the library panics
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := parseTiming(text)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
		for _, r := range rules {
			if err := r.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
