package export

import (
	"testing"

	"github.com/eideticker/eideticker/analyze/trace"
)

// TestBusiest: a page with a slow function is busier than a worker with many short calls.
func TestBusiest(t *testing.T) {
	realm := func(id uint32, calls int, self int64) *trace.Realm {
		r := &trace.Realm{ID: id}
		for range calls {
			r.Calls = append(r.Calls, trace.Call{Self: self})
		}
		return r
	}
	empty, worker, page, other := realm(1, 0, 0), realm(2, 1000, 10), realm(3, 2, 1e6), realm(4, 2, 1e6)
	for _, tc := range []struct {
		realms []*trace.Realm
		want   uint32
	}{
		{[]*trace.Realm{empty, worker, page, other}, 3}, {[]*trace.Realm{empty, realm(5, 1, 0)}, 5},
	} {
		if got := busiest(tc.realms).ID; got != tc.want {
			t.Errorf("realm %d, want %d", got, tc.want)
		}
	}
}
