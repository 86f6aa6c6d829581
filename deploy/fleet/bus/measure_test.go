package bus

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// BenchmarkStorage prints the figures of the storage: puts, a start and a read of 102,000 entries,
// and memory. It runs once: -benchtime 1x.
func BenchmarkStorage(t *testing.B) {
	o := ServerOptions{Dir: t.TempDir(), Quota: 2 << 30, Keys: keysOf(t, newAuthority(t))}
	s := serve(t, o)
	value := bytes.Repeat([]byte("v"), 1024)
	put := func(n, writers int) time.Duration {
		start := time.Now()
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := w; i < n; i += writers {
					key := fmt.Sprintf("j%d.%d", writers, i)
					if _, err := s.Bucket(Jobs).Put(t.Context(), key, value, 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(start)
	}
	for _, writers := range []int{1, 16} {
		const n = 1000
		t.Logf("%d writers: %.0f puts/s with fsync", writers, n/put(n, writers).Seconds())
	}
	s.Close()
	s.options.Dir = o.Dir
	fast := o
	fast.unsynced = true
	s = serve(t, fast)
	t.Logf("without fsync: %.0f puts/s", 100_000/put(100_000, 64).Seconds())
	s.Close()
	start := time.Now()
	s = serve(t, o)
	t.Logf("start with 102,000 entries: %v", time.Since(start))
	start = time.Now()
	all, err := s.Bucket(Jobs).All(t.Context())
	t.Logf("All: %d entries in %v, %v", len(all), time.Since(start), err)
	all = nil
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("memory: %d MiB in use, %d MiB of the system", m.HeapInuse>>20, m.Sys>>20)
}
