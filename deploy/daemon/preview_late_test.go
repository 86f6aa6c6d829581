package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestPreviewOfBefore: a picture that is packed while the last viewer leaves is not shown to the
// next one. That one gets a current picture, even if the screen does not change.
func TestPreviewOfBefore(t *testing.T) {
	for _, comes := range []string{"before it is packed", "after it is packed"} {
		t.Run(comes, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, step := stillScreen(t)
				show := func() {
					time.Sleep(previewEvery)
					p.Frame(step, 0)
					step.Change = &frame.Change{} // the screen stands still from now on
				}
				p.view()
				show()
				p.leave()
				if comes == "before it is packed" {
					p.view()
				}
				end := make(chan struct{})
				go func() { _ = p.run(end) }()
				synctest.Wait()
				if comes == "after it is packed" {
					p.view()
				}
				if old, _ := p.Latest(); old != nil {
					t.Errorf("picture %d is of before", old.Number)
				}
				show()
				synctest.Wait()
				if now, _ := p.Latest(); now == nil {
					t.Error("there is no picture of now")
				}
				close(end)
			})
		})
	}
}

// stillScreen is a preview, and a frame to show it.
func stillScreen(t *testing.T) (*Preview, *frame.Step) {
	t.Helper()
	f, err := frame.NewFormat(frame.BGR4, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	p := newPreview("a", time.Now)
	p.Begin(nil, empty)
	return p, &frame.Step{Image: l.View(make([]byte, l.Size))}
}
