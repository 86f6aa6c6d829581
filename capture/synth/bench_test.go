package synth

import (
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/ringbuf"
)

// BenchmarkPlay is what a scene costs a recorder: frames into slots that are larger together than
// caches. The bare copy of memory stands beside it.
func BenchmarkPlay(b *testing.B) {
	for _, size := range []string{"1920x1080", "3840x2160"} {
		for _, scene := range append([]string{"copy"}, sceneNames()...) {
			b.Run(fmt.Sprintf("scene=%s/size=%s", scene, size), func(b *testing.B) {
				name := scene
				if scene == "copy" {
					name = "static"
				}
				s := open(b, name, "size="+size)
				frameBytes := s.geo.size
				const slots = 16
				mem, err := ringbuf.Map(slots*frameBytes, ringbuf.MapOptions{Prefault: true})
				if err != nil {
					b.Fatal(err)
				}
				defer mem.Close()
				pix := make([]byte, frameBytes)
				s.Render(0, pix)
				n := uint64(videoFirst)
				b.SetBytes(int64(frameBytes))
				b.ReportAllocs()
				for b.Loop() {
					dst := mem.Bytes()[int(n%slots)*frameBytes:][:frameBytes]
					if scene == "copy" {
						copy(dst, pix)
					} else {
						s.Render(n, dst)
					}
					n++
				}
			})
		}
	}
}

// BenchmarkOpen is how long rendering ahead takes.
func BenchmarkOpen(b *testing.B) {
	for _, format := range []string{"BGR4", "NV12"} {
		for _, scene := range sceneNames() {
			b.Run(fmt.Sprintf("scene=%s/size=3840x2160/format=%s", scene, format), func(b *testing.B) {
				for b.Loop() {
					s := open(b, scene, "size=3840x2160&format="+format)
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
