package hub

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
)

// slowBus calls during once while jobs are stored.
type slowBus struct {
	bus.Hub
	during func()
}

type slowBucket struct {
	bus.Bucket
	of *slowBus
}

func (b *slowBus) Bucket(name string) bus.Bucket { return slowBucket{b.Hub.Bucket(name), b} }

func (b slowBucket) PutAll(ctx context.Context, all []bus.Entry) []bus.Stored {
	if do := b.of.during; do != nil && len(all) > 0 {
		b.of.during = nil
		do()
	}
	return b.Bucket.PutAll(ctx, all)
}

// TestUploadOfTwoJobs: the upload of an ended job stays while a new job with it is being stored.
func TestUploadOfTwoJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		slow := &slowBus{Hub: w.o.Bus}
		w.o.Bus = slow
		w.restart()
		w.rigs["a"].poll()
		p := api.JobParams{StartParams: api.StartParams{Upload: &api.Upload{Test: "x.yaml",
			Files: map[string]string{"x.yaml": "name: x"}}}}
		sum := w.hub.jobs[w.submit("s-1", p).Job].Upload
		w.cancel("s-1")
		slow.during = func() {
			go w.hub.store(t.Context())
			synctest.Wait() // it has ended, or waits for the round
		}
		w.submit("s-2", p)
		synctest.Wait()
		if _, err := slow.Blobs().Get(t.Context(), sum); err != nil || w.hub.refs[sum] != 1 {
			t.Errorf("the upload of s-2: %v, %d jobs", err, w.hub.refs[sum])
		}
	})
}
