package bus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestMemory(t *testing.T) {
	m := NewMemory()
	testBus(t, world{m.Hub(), func(_ *testing.T, name string) Rig { return m.Rig(name) }})
}

// TestMemoryFaults: each fault is what the hub and the rig see of it.
func TestMemoryFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		rig := m.Rig("a")
		if _, err := rig.Request(t.Context(), "poll", nil); !errors.Is(err, ErrAway) {
			t.Errorf("without a hub: %v", err)
		}
		var got []string
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go m.Hub().Serve(ctx, func(_ context.Context, rig, _ string, request []byte) []byte {
			got = append(got, rig+string(request))
			return request
		})
		synctest.Wait()
		for _, tc := range []struct {
			request string
			faults  Faults
			away    bool
			want    string
		}{
			{"0", Faults{}, false, "a0"},
			{"1", Faults{Cut: true}, true, ""},
			{"2", Faults{Duplicate: true}, false, "a2 a2"},
			{"3", Faults{Lost: true}, true, "a3"},
			{"4", Faults{Hold: true}, true, ""},
			{"5", Faults{Hold: true}, true, ""},
		} {
			got = nil
			m.Inject("a", tc.faults)
			_, err := rig.Request(t.Context(), "poll", []byte(tc.request))
			if errors.Is(err, ErrAway) != tc.away || strings.Join(got, " ") != tc.want {
				t.Errorf("%+v: %v, the hub got %q", tc.faults, err, got)
			}
		}
		if m.Release("a"); strings.Join(got, " ") != "a5 a4" {
			t.Errorf("released: %q", got)
		}
		b := m.Hub().Bucket(Jobs)
		m.Fail(nil, ErrFull, ErrConflict)
		for i, want := range []error{nil, ErrFull, ErrConflict, nil} {
			if _, err := b.Put(t.Context(), string(rune('a'+i)), nil, 0); !errors.Is(err, want) {
				t.Errorf("put %d: %v, want %v", i, err, want)
			}
		}
	})
}
