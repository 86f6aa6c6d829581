package video

import (
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/internal/capturetest"
)

// play runs a source to its end and checks what holds for all videos: frames are numbered from 0,
// and each is later than the one before.
func play(t *testing.T, s capture.Source) capturetest.Delivered {
	t.Helper()
	g := capturetest.Play(t, s)
	for n, m := range g.Metas {
		if m.Sequence != uint64(n) || m.Sampled.Width() != 0 {
			t.Errorf("frame %d: %+v", n, m)
		}
		if n > 0 && m.Sampled.Earliest <= g.Metas[n-1].Sampled.Earliest {
			t.Errorf("frame %d is at %v, the one before at %v", n, m.Sampled, g.Metas[n-1].Sampled)
		}
	}
	return g
}
